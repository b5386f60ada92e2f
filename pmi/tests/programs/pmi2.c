/* A client of PMI-2 by Slurm's libpmi2: what ranks put is seen by all after the fence, what they put for their host by those there. */
#include <stdio.h>
#include <string.h>

int PMI2_Init(int *spawned, int *size, int *rank, int *appnum);
int PMI2_Finalize(void);
int PMI2_Job_GetId(char *id, int bytes);
int PMI2_KVS_Put(const char *key, const char *value);
int PMI2_KVS_Get(const char *job, int source, const char *key, char *value, int bytes, int *length);
int PMI2_KVS_Fence(void);
int PMI2_Info_PutNodeAttr(const char *name, const char *value);
int PMI2_Info_GetNodeAttr(const char *name, char *value, int bytes, int *found, int wait);
int PMI2_Info_GetJobAttr(const char *name, char *value, int bytes, int *found);

#define CHECK(condition) do { if (!(condition)) { fprintf(stderr, "rank %d: %s\n", rank, #condition); return 1; } } while (0)

int main(void)
{
    int rank = -1, size, spawned, appnum, length, found;
    char job[256], key[64], value[1024], expected[64], map[1024];
    CHECK(PMI2_Init(&spawned, &size, &rank, &appnum) == 0);
    CHECK(!spawned && appnum == 0);
    CHECK(PMI2_Job_GetId(job, sizeof job) == 0);
    snprintf(key, sizeof key, "key-%d", rank);
    snprintf(value, sizeof value, "value;of=%d", rank);
    CHECK(PMI2_KVS_Put(key, value) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    for (int other = 0; other < size; other++) {
        snprintf(key, sizeof key, "key-%d", other);
        snprintf(expected, sizeof expected, "value;of=%d", other);
        CHECK(PMI2_KVS_Get(job, other, key, value, sizeof value, &length) == 0);
        CHECK(strcmp(value, expected) == 0);
    }
    if (rank == 0)
        CHECK(PMI2_Info_PutNodeAttr("memory", "/here") == 0);
    CHECK(PMI2_Info_GetNodeAttr("memory", value, sizeof value, &found, 1) == 0);
    CHECK(found && strcmp(value, "/here") == 0);
    CHECK(PMI2_Info_GetJobAttr("PMI_process_mapping", map, sizeof map, &found) == 0 && found);
    CHECK(PMI2_Info_GetJobAttr("no-such", value, sizeof value, &found) == 0 && !found);
    printf("rank %d of %d, %s\n", rank, size, map);
    return PMI2_Finalize();
}
