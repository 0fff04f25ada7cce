/* The C interface, used from C11: a simulated pair that is prepared, planned and copied on, pages, memory shared with
   another process, and every kind of failure. Ends with 0 when all is right. */

#include <peerlane/peerlane.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

#define CHECK(condition)                                                                                 \
    do {                                                                                                 \
        if (!(condition)) {                                                                              \
            fprintf(stderr, "%s:%d: %s\n    last error: %s (code %d)\n", __FILE__, __LINE__, #condition, \
                    peerlane_last_error(), peerlane_last_code());                                        \
            ++failures;                                                                                  \
        }                                                                                                \
    } while (0)

enum { bytes = 1 << 20, page = 4096 };
static const double limit_s = 60;

static void fill(unsigned char* to, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; ++i) {
        seed = seed * 1664525U + 1013904223U;
        to[i] = (unsigned char)(seed >> 24);
    }
}

static peerlane_driver* open_pair(void) {
    peerlane_driver* driver = NULL;
    CHECK(peerlane_open_simulated("h200-pair", NULL, 0, &driver) == PEERLANE_OK);
    CHECK(peerlane_device_count(driver) == 2);
    return driver;
}

static void note_progress(void* user, int waiting, double seconds, const char* what) {
    (void)waiting;
    (void)seconds;
    if (strstr(what, "proving") != NULL) {
        ++*(int*)user;
    }
}

static void test_moving(const char* folder) {
    peerlane_driver* driver = open_pair();
    peerlane_mover* mover = NULL;
    int told = 0;
    peerlane_prepare_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cache = folder;
    options.progress = note_progress;
    options.user = &told;
    options.refuse_missing = 1;
    CHECK(peerlane_prepare(driver, &options, &mover) == PEERLANE_MISSING);
    options.refuse_missing = 0;
    CHECK(peerlane_prepare(driver, &options, &mover) == PEERLANE_OK);
    CHECK(told > 0);
    peerlane_mover_close(mover);
    options.refuse_missing = 1;
    CHECK(peerlane_prepare(driver, &options, &mover) == PEERLANE_OK);

    char text[64];
    size_t needed = 0;
    CHECK(peerlane_plan_text(mover, "gpu0", "gpu1", bytes, text, sizeof text, &needed) == PEERLANE_OK);
    CHECK(needed > sizeof text && strlen(text) == sizeof text - 1);
    char* whole = malloc(needed);
    CHECK(peerlane_plan_text(mover, "gpu0", "gpu1", bytes, whole, needed, NULL) == PEERLANE_OK);
    CHECK(strlen(whole) == needed - 1);
    free(whole);
    CHECK(peerlane_plan_json(mover, "gpu0", "host", bytes, NULL, 0, &needed) == PEERLANE_OK);
    CHECK(needed > 10);

    void *a = NULL, *b = NULL, *h = NULL;
    peerlane_stream stream;
    CHECK(peerlane_allocate(driver, "gpu0", bytes, PEERLANE_PLAIN, &a) == PEERLANE_OK);
    CHECK(peerlane_allocate(driver, "gpu1", bytes, PEERLANE_VIRTUAL, &b) == PEERLANE_OK);
    CHECK(peerlane_allocate(driver, "host", bytes, PEERLANE_PINNED, &h) == PEERLANE_OK);
    CHECK(peerlane_stream_create(driver, 0, &stream) == PEERLANE_OK);
    unsigned char* sent = malloc(bytes);
    unsigned char* got = malloc(bytes);
    fill(sent, bytes, 1);
    CHECK(peerlane_write_host(driver, h, sent, bytes) == PEERLANE_OK);
    CHECK(peerlane_copy(mover, a, h, bytes, stream) == PEERLANE_OK);
    CHECK(peerlane_copy(mover, b, a, bytes, stream) == PEERLANE_OK);

    int32_t backwards[bytes / page];
    for (int i = 0; i < bytes / page; ++i) {
        backwards[i] = bytes / page - 1 - i;
    }
    peerlane_pages pages;
    memset(&pages, 0, sizeof pages);
    pages.size = sizeof pages;
    pages.dst = a;
    pages.src = b;
    pages.page_bytes = page;
    pages.dst_index = backwards;
    pages.index_bytes = 4;
    pages.count = bytes / page;
    CHECK(peerlane_copy_pages(mover, &pages, stream) == PEERLANE_OK);
    CHECK(peerlane_copy(mover, h, a, bytes, stream) == PEERLANE_OK);
    CHECK(peerlane_stream_synchronize(driver, stream) == PEERLANE_OK);
    CHECK(peerlane_synchronize(mover) == PEERLANE_OK);
    CHECK(peerlane_read_host(driver, h, got, bytes) == PEERLANE_OK);
    for (int i = 0; i < bytes / page; ++i) {
        if (memcmp(sent + (size_t)i * page, got + (size_t)backwards[i] * page, page) != 0) {
            CHECK(!"a page is wrong");
            break;
        }
    }
    backwards[3] = bytes / page;
    CHECK(peerlane_copy_pages(mover, &pages, stream) == PEERLANE_INVALID);
    CHECK(strstr(peerlane_last_error(), "3") != NULL);
    pages.size = 1;
    CHECK(peerlane_copy_pages(mover, &pages, stream) == PEERLANE_INVALID);
    free(sent);
    free(got);
    CHECK(peerlane_stream_destroy(driver, stream) == PEERLANE_OK);
    CHECK(peerlane_free(driver, a) == PEERLANE_OK);
    CHECK(peerlane_free(driver, a) == PEERLANE_FAILED);
    CHECK(peerlane_last_code() != 0);
    peerlane_close(driver); /* the mover keeps what it needs */
    peerlane_mover_close(mover);
}

static void test_failures(void) {
    peerlane_driver* driver = NULL;
    peerlane_mover* mover = NULL;
    void* memory = NULL;
    const char* const wrong_fault[] = {"nonsense"};
    CHECK(peerlane_open_simulated("no-such-machine", NULL, 0, &driver) == PEERLANE_INPUT);
    CHECK(strstr(peerlane_last_error(), "no-such-machine") != NULL);
    CHECK(peerlane_open_simulated("h200-pair", wrong_fault, 1, &driver) != PEERLANE_OK);
    CHECK(peerlane_open_simulated(NULL, NULL, 0, &driver) == PEERLANE_INVALID);
    CHECK(peerlane_open_simulated("h200-pair", NULL, 0, NULL) == PEERLANE_INVALID);
    CHECK(driver == NULL);
    CHECK(peerlane_prepare(NULL, NULL, &mover) == PEERLANE_INVALID);
    CHECK(peerlane_copy(NULL, NULL, NULL, 1, (peerlane_stream){0, 0}) == PEERLANE_INVALID);
    CHECK(peerlane_device_count(NULL) == 0);
    CHECK(peerlane_imported_data(NULL) == NULL && peerlane_imported_bytes(NULL) == 0);
    peerlane_close(NULL);
    peerlane_mover_close(NULL);
    peerlane_share_close(NULL);
    peerlane_imported_close(NULL);
    peerlane_listener_close(NULL);
    peerlane_peer_close(NULL);

    driver = open_pair();
    CHECK(peerlane_allocate(driver, "nowhere", 1, PEERLANE_PLAIN, &memory) == PEERLANE_INVALID);
    CHECK(peerlane_allocate(driver, "gpu0", 0, PEERLANE_PLAIN, &memory) == PEERLANE_INVALID);
    CHECK(peerlane_allocate(driver, "gpu7", 1, PEERLANE_PLAIN, &memory) == PEERLANE_INVALID);
    CHECK(peerlane_allocate(driver, "gpu0", UINT64_C(1) << 50, PEERLANE_PLAIN, &memory) == PEERLANE_NO_MEMORY);
    CHECK(peerlane_trust_claimed(driver, &mover) == PEERLANE_OK);
    CHECK(peerlane_plan_text(mover, "gpu0", "gpu9", 1, NULL, 0, NULL) == PEERLANE_INVALID);
    peerlane_mover_close(mover);
    peerlane_close(driver);

    peerlane_share* share = NULL;
    peerlane_peer* peer = NULL;
    driver = open_pair();
    CHECK(peerlane_share_open(driver, &share) == PEERLANE_OK);
    CHECK(peerlane_connect("/tmp/peerlane-nobody-is-here", share, 0.01, &peer) == PEERLANE_TIMEOUT);
    peerlane_range range;
    memset(&range, 0, sizeof range);
    range.descriptor = -1;
    range.bytes = 100;
    peerlane_imported* imported = NULL;
    CHECK(peerlane_import(share, &range, 0, &imported) == PEERLANE_INPUT);
    range.bytes = sizeof range;
    CHECK(peerlane_import(share, &range, 0, &imported) == PEERLANE_INVALID);
    peerlane_share_close(share);
    peerlane_close(driver);
}

static void test_ranges(void) {
    peerlane_driver* driver = open_pair();
    peerlane_share *exporter = NULL, *importer = NULL;
    peerlane_imported* imported = NULL;
    peerlane_range range;
    void* memory = NULL;
    CHECK(peerlane_share_open(driver, &exporter) == PEERLANE_OK);
    CHECK(peerlane_share_open(driver, &importer) == PEERLANE_OK);
    CHECK(peerlane_share_allocate_host(exporter, bytes, &memory) == PEERLANE_OK);
    fill(memory, bytes, 2);
    CHECK(peerlane_export(exporter, (char*)memory + page, page, &range) == PEERLANE_OK);
    CHECK(range.descriptor >= 0 && range.bytes > 0 && range.bytes <= sizeof range.data);
    CHECK(peerlane_import(importer, &range, 0, &imported) == PEERLANE_OK);
    CHECK(close(range.descriptor) == 0);
    CHECK(peerlane_restore(exporter, range.id) == PEERLANE_OK);
    CHECK(peerlane_imported_bytes(imported) == page);
    CHECK(memcmp(peerlane_imported_data(imported), (char*)memory + page, page) == 0);
    CHECK(peerlane_share_free_host(exporter, memory) == PEERLANE_INVALID);
    peerlane_imported_close(imported);
    CHECK(peerlane_withdraw(exporter, range.id, 0) == PEERLANE_OK);
    CHECK(peerlane_share_free_host(exporter, memory) == PEERLANE_OK);
    peerlane_share_close(importer);
    peerlane_share_close(exporter);
    peerlane_close(driver);
}

static void talk(peerlane_peer* peer, peerlane_share* share, unsigned mine, unsigned theirs) {
    unsigned char* expected = malloc(bytes);
    void* memory = NULL;
    uint64_t id = 0;
    char word[8];
    size_t size = 0;
    peerlane_imported* imported = NULL;
    CHECK(peerlane_peer_process(peer) > 0);
    CHECK(peerlane_share_allocate_host(share, bytes, &memory) == PEERLANE_OK);
    fill(memory, bytes, mine);
    CHECK(peerlane_offer(peer, memory, bytes, &id) == PEERLANE_OK);
    CHECK(peerlane_take(peer, 0, limit_s, &imported) == PEERLANE_OK);
    CHECK(peerlane_settle(peer, id, limit_s) == PEERLANE_OK);
    CHECK(peerlane_send(peer, "ready", 5) == PEERLANE_OK);
    CHECK(peerlane_receive(peer, word, sizeof word, &size, limit_s) == PEERLANE_OK && size == 5);
    fill(expected, bytes, theirs);
    CHECK(imported != NULL && memcmp(peerlane_imported_data(imported), expected, bytes) == 0);
    CHECK(peerlane_give_back(peer, imported) == PEERLANE_OK);
    CHECK(peerlane_take_back(peer, id, limit_s) == PEERLANE_OK);
    CHECK(peerlane_share_free_host(share, memory) == PEERLANE_OK);
    free(expected);
}

static void test_processes(const char* path) {
    fflush(NULL);
    pid_t const child = fork();
    peerlane_driver* driver = open_pair();
    peerlane_share* share = NULL;
    peerlane_peer* peer = NULL;
    CHECK(peerlane_share_open(driver, &share) == PEERLANE_OK);
    if (child == 0) {
        CHECK(peerlane_connect(path, share, limit_s, &peer) == PEERLANE_OK);
        talk(peer, share, 3, 4);
        _exit(failures == 0 ? 0 : 1);
    }
    peerlane_listener* listener = NULL;
    CHECK(peerlane_listen(path, &listener) == PEERLANE_OK);
    CHECK(peerlane_accept(listener, share, limit_s, &peer) == PEERLANE_OK);
    peerlane_listener_close(listener);
    talk(peer, share, 4, 3);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char word[8];
    size_t size = 0;
    CHECK(peerlane_receive(peer, word, sizeof word, &size, limit_s) == PEERLANE_PEER_GONE);
    peerlane_close(driver); /* any order */
    peerlane_share_close(share);
    peerlane_peer_close(peer);
}

int main(void) {
    char folder[] = "/tmp/peerlane-c-XXXXXX";
    char command[64];
    char path[64];
    if (mkdtemp(folder) == NULL) {
        perror("mkdtemp");
        return 1;
    }
    snprintf(path, sizeof path, "%s/meet", folder);
    printf("peerlane %s\n", peerlane_version());
    test_failures();
    test_moving(folder);
    test_ranges();
    test_processes(path);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    printf(failures == 0 ? "all right\n" : "%d FAILED\n", failures);
    return failures == 0 ? 0 : 1;
}
