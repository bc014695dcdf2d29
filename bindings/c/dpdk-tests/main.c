/*
 * Runs what DPDK's ring tests register, and its stress test of rings for many, whose two cases take a minute each as they are: three workers on the first two
 * CPUs, for as many seconds as the only argument says.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "test_ring_stress.h"

static struct test_command *commands[8];
static unsigned int registered;
static unsigned int seconds;

void add_test_command(struct test_command *command)
{
    commands[registered++] = command;
}

/* What the stress test does while its workers run. */
static void wait_less(unsigned int micros)
{
    usleep(RTE_MIN(micros, seconds * 1000000));
}

static int told(const char *name, const char *part, int answer)
{
    fprintf(stderr, "%s%s: %s\n", name, part, answer == 0 ? "passed" : "FAILED");
    return answer != 0;
}

int main(int argc, char **argv)
{
    static char *arguments[] = {"dpdk-tests", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "-m", "256", "--lcores", "0@(0,1),1@(0,1),2@(0,1),3@(0,1)", NULL};
    unsigned int i, failed = 0;

    seconds = argc == 2 ? (unsigned int)atoi(argv[1]) : 0;
    if (seconds == 0 || seconds > 60) {
        fprintf(stderr, "how many seconds, 1 to 60\n");
        return 2;
    }
    if (rte_eal_init(RTE_DIM(arguments) - 1, arguments) < 0) {
        fprintf(stderr, "skipped: DPDK's environment does not start here\n");
        return 0;
    }
    rte_delay_us_callback_register(wait_less);
    for (i = 0; i < registered; i++)
        failed += told(commands[i]->command, "", commands[i]->callback());
    for (i = 0; i < test_ring_mpmc_stress.nb_case; i++) {
        const struct test_case *one = &test_ring_mpmc_stress.cases[i];
        failed += told("stress of many, ", one->name, one->func(one->wfunc));
    }
    return failed != 0;
}
