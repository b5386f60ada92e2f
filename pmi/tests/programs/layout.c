/* The sizes, offsets and numbers of PMIx's C interface that are declared in src/client/pmix/library.rs, from the headers. */
#include <pmix.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CHECK(expression, expected) \
    if ((long long)(expression) != (expected)) { \
        printf("%s is %lld and not %lld\n", #expression, (long long)(expression), (long long)(expected)); \
        wrong = 1; \
    }

int main(void)
{
    int wrong = 0;
    CHECK(sizeof(pmix_proc_t), 260);
    CHECK(offsetof(pmix_proc_t, rank), 256);
    CHECK(sizeof(pmix_value_t), 32);
    CHECK(offsetof(pmix_value_t, data), 8);
    CHECK(sizeof(((pmix_value_t *)0)->type), 2);
    CHECK(sizeof(pmix_info_t), 552);
    CHECK(offsetof(pmix_info_t, flags), 512);
    CHECK(offsetof(pmix_info_t, value), 520);
    CHECK(sizeof(pmix_scope_t), 1);
    CHECK(sizeof(pmix_status_t), 4);
    CHECK(PMIX_GLOBAL, 3);
    CHECK(PMIX_RANK_WILDCARD, 4294967294LL);
    CHECK(PMIX_BOOL, 1);
    CHECK(PMIX_STRING, 3);
    CHECK(PMIX_SIZE, 4);
    CHECK(PMIX_INT, 6);
    CHECK(PMIX_INT32, 9);
    CHECK(PMIX_UINT, 11);
    CHECK(PMIX_UINT16, 13);
    CHECK(PMIX_UINT32, 14);
    CHECK(PMIX_UINT64, 15);
    CHECK(PMIX_PROC_RANK, 40);
    CHECK(PMIX_SUCCESS, 0);
    CHECK(PMIX_ERR_NOT_FOUND, -46);
    CHECK(strcmp(PMIX_COLLECT_DATA, "pmix.collect"), 0);
    CHECK(strcmp(PMIX_IMMEDIATE, "pmix.immediate"), 0);
    CHECK(strcmp(PMIX_JOB_SIZE, "pmix.job.size"), 0);
    CHECK(strcmp(PMIX_NODEID, "pmix.nodeid"), 0);
    CHECK(strcmp(PMIX_HOSTNAME, "pmix.hname"), 0);
    return wrong;
}
