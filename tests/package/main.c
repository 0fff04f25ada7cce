/* A simulated machine through the C interface, as a program in C would. */

#include <peerlane/peerlane.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    peerlane_driver* driver = NULL;
    peerlane_mover* mover = NULL;
    char plan[512];
    if (peerlane_open_simulated("h200-pair", NULL, 0, &driver) != PEERLANE_OK ||
        peerlane_trust_claimed(driver, &mover) != PEERLANE_OK ||
        peerlane_plan_text(mover, "gpu0", "gpu1", 1 << 20, plan, sizeof plan, NULL) != PEERLANE_OK) {
        fprintf(stderr, "%s\n", peerlane_last_error());
        return 1;
    }
    printf("peerlane %s\n%s\n", peerlane_version(), plan);
    peerlane_mover_close(mover);
    peerlane_close(driver);
    return strlen(plan) > 0 ? 0 : 1;
}
