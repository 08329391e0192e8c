/* Ranks that use the same scratch directory form a group: a split by a string.
 */
#include <catena/catena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    catena_context_t *context;
    if (catena_init(NULL, &context) != CATENA_OK) {
        return 1;
    }
    catena_group_t *world = catena_world(context);
    const char *scratch = getenv("SCRATCH");
    if (scratch == NULL) {
        scratch = "/tmp";
    }
    catena_split_t by = {.size = sizeof(by),
                         .color = scratch,
                         .color_bytes = strlen(scratch),
                         .flags = CATENA_SPLIT_NO_REORDER};
    catena_group_t *sharing;
    catena_status_t status = catena_group_split_by(world, &by, &sharing);
    if (status != CATENA_OK) {
        fprintf(stderr, "split: %s\n", catena_status_string(status));
        catena_abort(context, 1);
    }
    printf("rank %d of %d is %d of %d with %s\n", catena_group_rank(world),
           catena_group_size(world), catena_group_rank(sharing),
           catena_group_size(sharing), scratch);

    catena_group_free(&sharing);
    return catena_finalize(&context) == CATENA_OK ? 0 : 1;
}
