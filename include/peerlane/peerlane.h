#ifndef PEERLANE_PEERLANE_H
#define PEERLANE_PEERLANE_H
/** The interface for other languages: C11, opaque handles, no exceptions. Every function that can fail returns a
    peerlane_status; what went wrong is then told by peerlane_last_error and peerlane_last_code of the same thread.
    Handles may be closed in any order: each keeps what it needs. Closing NULL does nothing. Link with a C++ linker.
    The C++ headers of the same names say more of each call. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peerlane_status {
    PEERLANE_OK = 0,
    PEERLANE_INVALID = 1,   /**< a precondition is broken: an argument, an order of calls */
    PEERLANE_FAILED = 2,    /**< the machine or its driver: peerlane_last_code has the driver's number */
    PEERLANE_NO_DEVICE = 3, /**< none here; the message says why and what to do */
    PEERLANE_TIMEOUT = 4,   /**< not done in the time given */
    PEERLANE_PEER_GONE = 5, /**< the process at the other end ended */
    PEERLANE_MISSING = 6,   /**< nothing is stored and proving was refused, or another process is still at work */
    PEERLANE_INPUT = 7,     /**< text or bytes that cannot be read: a machine, a fault, a shared range */
    PEERLANE_NO_MEMORY = 8,
    PEERLANE_INTERNAL = 9
} peerlane_status;

/** Of the calling thread, about its last call that failed; valid until its next one that does. Never NULL. */
const char* peerlane_last_error(void);
/** The driver's number of it (CUDA's), 0 where there is none. */
int peerlane_last_code(void);
/** "0.1.0" */
const char* peerlane_version(void);

/* ---- devices ---------------------------------------------------------------------------------------------------- */

typedef struct peerlane_driver peerlane_driver;
/** The devices of this machine, in CUDA's order. */
peerlane_status peerlane_open_cuda(peerlane_driver** out);
/** A machine that is not there: its name ("dgx-1v"), "sim:..." or a file; `faults` may be NULL. */
peerlane_status peerlane_open_simulated(const char* machine, const char* const* faults, size_t fault_count,
                                        peerlane_driver** out);
void peerlane_close(peerlane_driver* driver);
/** 0 for NULL. */
int peerlane_device_count(const peerlane_driver* driver);

/** A stream: `handle` is a cudaStream_t as a number (0: the device's default stream). */
typedef struct peerlane_stream {
    int device;
    uint64_t handle;
} peerlane_stream;
peerlane_status peerlane_stream_create(peerlane_driver* driver, int device, peerlane_stream* out);
peerlane_status peerlane_stream_destroy(peerlane_driver* driver, peerlane_stream stream);
peerlane_status peerlane_stream_synchronize(peerlane_driver* driver, peerlane_stream stream);

typedef enum peerlane_memory {
    PEERLANE_PLAIN = 0,
    PEERLANE_POOL = 1, /**< of the device's own pool, which cannot be shared */
    PEERLANE_VIRTUAL = 2,
    PEERLANE_VIRTUAL_EXPORTABLE = 3,
    PEERLANE_MANAGED = 4,
    PEERLANE_PINNED = 5
} peerlane_memory;
/** `place`: "gpu0", "host", "host:1". Memory of other libraries need not come from here. */
peerlane_status peerlane_allocate(peerlane_driver* driver, const char* place, uint64_t bytes, peerlane_memory kind,
                                  void** out);
peerlane_status peerlane_free(peerlane_driver* driver, void* memory);
/** Host memory that peerlane_allocate gave; under simulation nothing stands behind its address but these two. */
peerlane_status peerlane_write_host(peerlane_driver* driver, void* to, const void* from, uint64_t bytes);
peerlane_status peerlane_read_host(peerlane_driver* driver, const void* from, void* to, uint64_t bytes);

/* ---- moving ----------------------------------------------------------------------------------------------------- */

/** Called while proofs run or another process is waited for. Must not call back into peerlane. */
typedef void (*peerlane_progress)(void* user, int waiting, double seconds, const char* what);

typedef struct peerlane_prepare_options {
    size_t size;                /**< sizeof this struct */
    const char* cache;          /**< a folder; NULL: nothing is kept */
    const char* prober;         /**< path of peerlane-probe; real devices need it */
    int refuse_missing;         /**< not 0: what is stored or PEERLANE_MISSING */
    int measure;                /**< 0: nothing, 1: quick, 2: full */
    double wait_s;              /**< for another process that proves; 0: 600 */
    const char* const* devices; /**< UUIDs ("GPU-...") or bus addresses of the job's devices; NULL: those seen */
    size_t device_count;
    const char* depends_on; /**< what else changes verdicts; may be NULL */
    peerlane_progress progress;
    void* user;
} peerlane_prepare_options;

typedef struct peerlane_mover peerlane_mover;
/** Reads or proves what is to be known of the machine, and makes a mover of it. `options` may be NULL. */
peerlane_status peerlane_prepare(peerlane_driver* driver, const peerlane_prepare_options* options,
                                 peerlane_mover** out);
/** A mover that believes what the driver claims: nothing is proven. */
peerlane_status peerlane_trust_claimed(peerlane_driver* driver, peerlane_mover** out);
/** Waits for what was submitted. */
void peerlane_mover_close(peerlane_mover* mover);
/** The plan of one copy, for people (text) or as the document peerlane.plan/1. Writes what fits with a 0 behind it;
    `needed`, which may be NULL, gets the bytes of all of it with the 0. `out` may be NULL where `room` is 0. */
peerlane_status peerlane_plan_text(const peerlane_mover* mover, const char* from, const char* to, uint64_t bytes,
                                   char* out, size_t room, size_t* needed);
peerlane_status peerlane_plan_json(const peerlane_mover* mover, const char* from, const char* to, uint64_t bytes,
                                   char* out, size_t room, size_t* needed);
/** Stream-ordered, like a copy of the runtime. */
peerlane_status peerlane_copy(peerlane_mover* mover, void* to, const void* from, uint64_t bytes,
                              peerlane_stream stream);

/** Page src_index[i] of the source becomes page dst_index[i] of the destination. */
typedef struct peerlane_pages {
    size_t size; /**< sizeof this struct */
    void* dst;
    const void* src;
    uint64_t page_bytes;
    const void* dst_index; /**< NULL: 0, 1, 2, ... */
    const void* src_index;
    unsigned index_bytes; /**< 4 or 8, of one number */
    uint64_t count;
    uint64_t dst_pitch, src_pitch; /**< 0: page_bytes */
} peerlane_pages;
peerlane_status peerlane_copy_pages(peerlane_mover* mover, const peerlane_pages* pages, peerlane_stream stream);
/** Waits for all that was submitted through the mover, and tells the first failure. */
peerlane_status peerlane_synchronize(peerlane_mover* mover);

/* ---- memory of other processes (docs/processes.md) -------------------------------------------------------------- */

typedef struct peerlane_share peerlane_share;
typedef struct peerlane_imported peerlane_imported;
peerlane_status peerlane_share_open(peerlane_driver* driver, peerlane_share** out);
void peerlane_share_close(peerlane_share* share);
/** Host memory that can be exported. */
peerlane_status peerlane_share_allocate_host(peerlane_share* share, uint64_t bytes, void** out);
peerlane_status peerlane_share_free_host(peerlane_share* share, void* memory);

#define PEERLANE_RANGE_BYTES 1024
/** A range as bytes that travel as you like; `descriptor` (-1: none) must travel beside them and is the caller's to
    close. */
typedef struct peerlane_range {
    uint64_t id;
    int descriptor;
    size_t bytes; /**< of `data` that count */
    unsigned char data[PEERLANE_RANGE_BYTES];
} peerlane_range;
/** Leave the first 64 bytes of the range alone until peerlane_restore. */
peerlane_status peerlane_export(peerlane_share* share, const void* at, uint64_t bytes, peerlane_range* out);
peerlane_status peerlane_restore(peerlane_share* share, uint64_t id);
/** PEERLANE_INVALID while it is open elsewhere as far as this process was told, unless `even_if_open`. */
peerlane_status peerlane_withdraw(peerlane_share* share, uint64_t id, int even_if_open);
/** The descriptor stays the caller's. */
peerlane_status peerlane_import(peerlane_share* share, const peerlane_range* range, int device,
                                peerlane_imported** out);
/** NULL and 0 for NULL. */
void* peerlane_imported_data(const peerlane_imported* imported);
uint64_t peerlane_imported_bytes(const peerlane_imported* imported);
void peerlane_imported_close(peerlane_imported* imported);

typedef struct peerlane_listener peerlane_listener;
typedef struct peerlane_peer peerlane_peer;
/** A Unix socket at `path` for processes of this user. */
peerlane_status peerlane_listen(const char* path, peerlane_listener** out);
void peerlane_listener_close(peerlane_listener* listener);
/** The other end of each calls peerlane_connect. */
peerlane_status peerlane_accept(peerlane_listener* listener, peerlane_share* share, double seconds,
                                peerlane_peer** out);
peerlane_status peerlane_connect(const char* path, peerlane_share* share, double seconds, peerlane_peer** out);
void peerlane_peer_close(peerlane_peer* peer);
/** Process number of the peer, 0 where it is not known. */
int peerlane_peer_process(const peerlane_peer* peer);
peerlane_status peerlane_offer(peerlane_peer* peer, const void* at, uint64_t bytes, uint64_t* id);
peerlane_status peerlane_settle(peerlane_peer* peer, uint64_t id, double seconds);
peerlane_status peerlane_take(peerlane_peer* peer, int device, double seconds, peerlane_imported** out);
/** Closes what peerlane_take gave and tells its owner. */
peerlane_status peerlane_give_back(peerlane_peer* peer, peerlane_imported* imported);
peerlane_status peerlane_take_back(peerlane_peer* peer, uint64_t id, double seconds);
peerlane_status peerlane_send(peerlane_peer* peer, const void* data, size_t bytes);
/** PEERLANE_INVALID when it does not fit into `room`; `bytes` then says its size, and it is lost. */
peerlane_status peerlane_receive(peerlane_peer* peer, void* data, size_t room, size_t* bytes, double seconds);

#ifdef __cplusplus
}
#endif

#endif
