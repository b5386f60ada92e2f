/* Random datatypes whose layout the program knows by itself: every constructor is applied twice, once by the library and
 * once to a list of displacements. What a library does with such a type can be held against a loop over the list.
 *
 * A program that includes this defines, before it, the basic types: KINDS of them in `basics`, with their bytes in memory
 * in `sizes`. Numbers come from one state that a seed sets, so all ranks can draw the same. */
#ifndef CONFORMANCE_RANDOM_TYPES_H
#define CONFORMANCE_RANDOM_TYPES_H

#include "check.h"
#include <stdint.h>

enum { ELEMENTS_MAX = 4000, COPIES_MAX = 12, BLOCK_MAX = 3 };

static uint64_t random_state;

static inline void seeded(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15u | 1;
}

static inline long below(long end)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (long)(random_state % (uint64_t)end);
}

static inline long between(long first, long last)
{
    return first + below(last - first + 1);
}

/* The seeds of a run: those of the command line, or some that never change. */
static inline void seeds_of(int argc, char **argv, long *first, long *last)
{
    *first = argc > 1 ? atol(argv[1]) : 1;
    *last = argc > 2 ? atol(argv[2]) : *first + 11;
}

struct type {
    MPI_Datatype type;
    int elements;
    unsigned char *kind; /* of each element */
    long *at;            /* and its displacement */
    long lb, ub;
};

static inline struct type room_for(int elements)
{
    struct type made = {.elements = elements};
    made.kind = malloc((size_t)elements + 1);
    made.at = malloc(sizeof(long) * ((size_t)elements + 1));
    return made;
}

static inline void release(struct type *old)
{
    int integers, addresses, types, combiner;
    free(old->kind);
    free(old->at);
    MPI_Type_get_envelope(old->type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&old->type);
    *old = (struct type){0};
}

static inline long extent_of(const struct type *type)
{
    return type->ub - type->lb;
}

/* Where the first byte lies, and the byte behind the last. */
static inline void span_of(const struct type *type, int count, long *low, long *high)
{
    *low = *high = 0;
    if (count == 0 || type->elements == 0) return;
    *low = *high = type->at[0];
    for (int i = 0; i < type->elements; i++) {
        long end = type->at[i] + sizes[type->kind[i]];
        if (type->at[i] < *low) *low = type->at[i];
        if (end > *high) *high = end;
    }
    long last = (count - 1) * extent_of(type);
    *(last < 0 ? low : high) += last;
}

/* The displacement of an element of a buffer of this type. */
static inline long place_in(const struct type *type, long element)
{
    return element / type->elements * extent_of(type) + type->at[element % type->elements];
}

static inline struct type basic_type(int kind)
{
    struct type made = room_for(1);
    made.type = basics[kind];
    made.kind[0] = (unsigned char)kind;
    made.at[0] = 0;
    made.ub = sizes[kind];
    return made;
}

/* The layout of copies of a type at multiples of a unit, which is its extent unless it is given. */
static inline struct type copies_of(const struct type *of, int count, const long *at, long unit)
{
    struct type made = room_for(count * of->elements);
    for (int i = 0, next = 0; i < count; i++) {
        long begin = at[i] * (unit > 0 ? unit : extent_of(of));
        for (int j = 0; j < of->elements; j++, next++) {
            made.kind[next] = of->kind[j];
            made.at[next] = begin + of->at[j];
        }
        if (i == 0 || begin + of->lb < made.lb) made.lb = begin + of->lb;
        if (i == 0 || begin + of->ub > made.ub) made.ub = begin + of->ub;
    }
    return made;
}

static inline struct type same_as(const struct type *of)
{
    long at = 0;
    struct type made = copies_of(of, 1, &at, 0);
    MPI_Type_dup(of->type, &made.type);
    return made;
}

static inline struct type resized(const struct type *of, long lb, long extent)
{
    long at = 0;
    struct type made = copies_of(of, 1, &at, 0);
    made.lb = lb;
    made.ub = lb + extent;
    MPI_Type_create_resized(of->type, lb, extent, &made.type);
    return made;
}

/* Blocks at regular distances, which a type for memory may have downwards. */
static inline struct type strided(const struct type *of, long grain, int ascending, int in_bytes, int count, int block)
{
    long at[COPIES_MAX * BLOCK_MAX], unit = in_bytes ? extent_of(of) : 1;
    long stride = block * unit + below(3) * (in_bytes ? grain : 1);
    int copies = 0;
    if (!ascending && below(3) == 0) stride = -stride;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < block; j++) at[copies++] = i * stride + j * unit;
    struct type made = copies_of(of, copies, at, in_bytes ? 1 : 0);
    if (in_bytes) MPI_Type_create_hvector(count, block, stride, of->type, &made.type);
    else MPI_Type_vector(count, block, (int)stride, of->type, &made.type);
    return made;
}

enum { INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCTURE, INDEX_SHAPES };

/* Blocks at irregular distances, which a type for memory may have in any order. */
static inline struct type indexed(const struct type *of, long grain, int ascending, int shape, int count, int block)
{
    int lengths[COPIES_MAX], places[COPIES_MAX], copies = 0;
    MPI_Aint bytes[COPIES_MAX];
    MPI_Datatype types[COPIES_MAX], structure;
    long at[COPIES_MAX * BLOCK_MAX];
    int in_bytes = shape == HINDEXED || shape == HINDEXED_BLOCK || shape == STRUCTURE;
    int equal = shape == INDEXED_BLOCK || shape == HINDEXED_BLOCK;
    long unit = in_bytes ? extent_of(of) : 1, gap = in_bytes ? grain : 1, next = below(3) * gap;
    for (int i = 0; i < count; i++) {
        lengths[i] = equal ? block : (int)between(1, block);
        bytes[i] = next;
        next += lengths[i] * unit + below(3) * gap;
    }
    for (int i = count - 1; i > 0 && !ascending; i--) {
        int other = (int)below(i + 1), length = lengths[i];
        MPI_Aint place = bytes[i];
        lengths[i] = lengths[other], bytes[i] = bytes[other];
        lengths[other] = length, bytes[other] = place;
    }
    for (int i = 0; i < count; i++) {
        places[i] = (int)bytes[i];
        types[i] = of->type;
        for (int j = 0; j < lengths[i]; j++) at[copies++] = bytes[i] + j * unit;
    }
    struct type made = copies_of(of, copies, at, in_bytes ? 1 : 0);
    switch (shape) {
    case INDEXED: MPI_Type_indexed(count, lengths, places, of->type, &made.type); break;
    case HINDEXED: MPI_Type_create_hindexed(count, lengths, bytes, of->type, &made.type); break;
    case INDEXED_BLOCK: MPI_Type_create_indexed_block(count, block, places, of->type, &made.type); break;
    case HINDEXED_BLOCK: MPI_Type_create_hindexed_block(count, block, bytes, of->type, &made.type); break;
    default:
        MPI_Type_create_struct(count, lengths, bytes, types, &structure);
        MPI_Type_create_resized(structure, made.lb, extent_of(&made), &made.type);
        MPI_Type_free(&structure);
    }
    return made;
}

/* One of the indices of an element of an array, which is stored in this order. */
static inline long index_in(long element, const int *edges, int dimensions, int order, int wanted)
{
    for (int i = 0; i < dimensions; i++) {
        int axis = order == MPI_ORDER_C ? dimensions - 1 - i : i;
        if (axis == wanted) return element % edges[axis];
        element /= edges[axis];
    }
    return 0;
}

static inline struct type whole_array(const struct type *of, int copies, const long *at, long total)
{
    struct type made = copies_of(of, copies, at, 0);
    made.lb = 0;
    made.ub = total * extent_of(of);
    return made;
}

static inline struct type subarray(const struct type *of)
{
    int dimensions = (int)between(1, 3), edges[3], sub[3], from[3], copies = 0;
    int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    long at[64], total = 1;
    for (int i = 0; i < dimensions; i++) {
        edges[i] = (int)between(1, 4);
        sub[i] = (int)between(1, edges[i]);
        from[i] = (int)between(0, edges[i] - sub[i]);
        total *= edges[i];
    }
    if (total * of->elements > ELEMENTS_MAX) return same_as(of);
    for (long element = 0; element < total; element++) {
        int inside = 1;
        for (int i = 0; i < dimensions; i++) {
            long index = index_in(element, edges, dimensions, order, i);
            inside &= index >= from[i] && index < from[i] + sub[i];
        }
        if (inside) at[copies++] = element;
    }
    struct type made = whole_array(of, copies, at, total);
    MPI_Type_create_subarray(dimensions, edges, sub, from, order, of->type, &made.type);
    return made;
}

static inline struct type darray(const struct type *of)
{
    int dimensions = (int)between(1, 3), edges[3], how[3], argument[3], grid[3], mine[3], processes = 1, copies = 0;
    int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    long at[125], total = 1, block[3];
    for (int i = 0; i < dimensions; i++) {
        edges[i] = (int)between(1, 5);
        how[i] = below(3) == 0 ? MPI_DISTRIBUTE_NONE : below(2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        grid[i] = how[i] == MPI_DISTRIBUTE_NONE ? 1 : (int)between(1, 2);
        argument[i] = MPI_DISTRIBUTE_DFLT_DARG;
        block[i] = how[i] == MPI_DISTRIBUTE_CYCLIC ? 1 : (edges[i] + grid[i] - 1) / grid[i];
        if (how[i] != MPI_DISTRIBUTE_NONE && below(2))
            argument[i] = (int)(block[i] = how[i] == MPI_DISTRIBUTE_BLOCK ? block[i] + below(2) : between(1, 3));
        total *= edges[i];
        processes *= grid[i];
    }
    int process = (int)below(processes), rest = process;
    for (int i = dimensions - 1; i >= 0; i--) mine[i] = rest % grid[i], rest /= grid[i];
    for (long element = 0; element < total; element++) {
        int inside = 1;
        for (int i = 0; i < dimensions; i++)
            inside &= index_in(element, edges, dimensions, order, i) / block[i] % grid[i] == mine[i];
        if (inside) at[copies++] = element;
    }
    if (copies == 0 || total * of->elements > ELEMENTS_MAX) return same_as(of);
    struct type made = whole_array(of, copies, at, total);
    MPI_Type_create_darray(processes, process, dimensions, edges, how, argument, grid, order, of->type, &made.type);
    return made;
}

/* One constructor around a type. Displacements in bytes are multiples of `grain`. */
static inline struct type around(const struct type *of, long grain, int ascending)
{
    int room = ELEMENTS_MAX / of->elements / 4;
    int most = room < 1 ? 1 : room < COPIES_MAX ? room : COPIES_MAX, count = (int)between(1, most);
    int block = (int)between(1, room / count < 1 ? 1 : room / count < BLOCK_MAX ? room / count : BLOCK_MAX);
    long low, high, at[COPIES_MAX];
    struct type made;
    int which = (int)below(7 + INDEX_SHAPES);
    switch (which) {
    case 0:
        for (int i = 0; i < count; i++) at[i] = i;
        made = copies_of(of, count, at, 0);
        MPI_Type_contiguous(count, of->type, &made.type);
        return made;
    case 1: return strided(of, grain, ascending, 0, count, block);
    case 2: return strided(of, grain, ascending, 1, count, block);
    case 3: return subarray(of);
    case 4: return darray(of);
    case 5:
        span_of(of, 1, &low, &high);
        return resized(of, (below(5) - 2) * grain, (high - low + grain - 1) / grain * grain + below(4) * grain);
    case 6: return same_as(of);
    default: return indexed(of, grain, ascending, which - 7, count, block);
    }
}

/* A committed type of some constructors around another. */
static inline struct type grown(const struct type *of, int depth, long grain, int ascending)
{
    struct type made = same_as(of);
    for (int i = 0; i < depth && made.elements < ELEMENTS_MAX / 4; i++) {
        MPI_Aint lb, extent;
        struct type next = around(&made, grain, ascending);
        release(&made);
        made = next;
        /* Elements at places that do not suit them: the standard lets a library round the extent up. */
        MPI_Type_get_extent(made.type, &lb, &extent);
        if (extent > extent_of(&made) && extent < extent_of(&made) + 16) made.ub = made.lb + extent;
        CHECK_INT(lb, made.lb);
        CHECK_INT(extent, extent_of(&made));
    }
    MPI_Type_commit(&made.type);
    return made;
}

#endif
