/* ranks: 1 */
/* MPI 5.0 chapter 9 (timers): MPI_Wtime gives seconds since a time in the past that does not change during the life of
 * the process, so a 50 ms sleep shows as at least 50 ms (less one tick); MPI_Wtick is the resolution in seconds. */
#include "check.h"
#include <time.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    double tick = MPI_Wtick(), before = MPI_Wtime(), last = before;
    CHECK(tick > 0.0 && tick <= 1.0);
    for (int i = 0; i < 1000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= last);
        last = now;
    }
    struct timespec pause = {0, 50 * 1000 * 1000};
    before = MPI_Wtime();
    nanosleep(&pause, NULL);
    double slept = MPI_Wtime() - before;
    CHECK(slept >= 0.049 - tick);
    CHECK(slept < 30.0);
    return finish();
}
