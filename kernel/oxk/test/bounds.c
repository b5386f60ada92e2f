// SPDX-License-Identifier: GPL-2.0
/* bounds.c: requests that an endpoint could not take with all its memory to itself (E2BIG), those
 * that have to wait for others (EAGAIN), and that neither of them keeps anything.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "oxk_test.h"

/* What struct oxk_params asks for; the endpoint rounds it up by whole blocks of 15 pieces and adds
 * one block for each request. */
enum { REQUESTS = 4, PIECES = 30, ALL = PIECES + 15 * REQUESTS, BOUNCE_PAGES = 4 };

static int bounded(struct test *test, struct pair *pair)
{
	pair_params(pair);
	pair->params.requests = REQUESTS;
	pair->params.pieces = PIECES;
	pair->params.bounce_bytes = BOUNCE_PAGES << PAGE_SHIFT;
	return pair_open(test, pair);
}

/* Pieces of one page that never continue each other. */
static int pieces(struct test *test)
{
	struct bio_vec *entries = kvcalloc(ALL + 1, sizeof(*entries), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct oxk_vector vector = { .kind = OXK_PAGES, .pages = entries };
	struct oxk_request first = {}, second = {};
	struct pair pair;
	int error, i;

	error = bounded(test, &pair);
	if (error || !entries || !page)
		goto out;
	for (i = 0; i <= ALL; i++)
		entries[i] = (struct bio_vec) { .bv_page = page, .bv_offset = 64, .bv_len = 8 };
	for (i = 0; i < 3; i++) {
		vector.n = ALL + 1;
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &first), -E2BIG);
		expect(test, oxk_isend(pair.first, pair.peer, 1, &vector, &first), -E2BIG);
		expect(test, oxk_issend(pair.first, pair.peer, 1, &vector, &first), -E2BIG);
		expect(test, oxk_cancel(&first), -ENOENT);
		vector.n = ALL;
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &first), 0);
		vector.n = 1;
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &second), -EAGAIN);
		expect(test, oxk_cancel(&first), 0);
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &second), 0);
		expect(test, oxk_cancel(&second), 0);
	}
out:
	pair_close(&pair);
	if (page)
		__free_page(page);
	kvfree(entries);
	return error;
}

/* Memory of the process: what was pinned until it turned out to be too much is let go. */
static int user_pieces(struct test *test)
{
	u64 bytes = PAGE_ALIGN((ALL + 1) * sizeof(struct iovec)) + PAGE_SIZE;
	unsigned long at = vm_mmap(NULL, 0, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	struct iovec __user *entries = (struct iovec __user *)(at + PAGE_SIZE);
	struct oxk_vector vector = { .kind = OXK_USER, .n = ALL + 1, .user = entries };
	struct oxk_request request = {};
	struct oxk_counts counts;
	struct pair pair;
	int error, i;

	error = bounded(test, &pair);
	if (error || IS_ERR_VALUE(at))
		goto out;
	for (i = 0; i <= ALL; i++) {
		struct iovec entry = { .iov_base = (void __user *)(at + 64), .iov_len = 8 };

		expect(test, copy_to_user(&entries[i], &entry, sizeof(entry)), 0);
	}
	expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &request), -E2BIG);
	oxk_count(pair.first, &counts);
	expect(test, counts.pages_pinned, 0);
	vector.n = ALL;
	expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &vector, &request), 0);
	oxk_count(pair.first, &counts);
	expect(test, counts.pages_pinned, ALL);
	expect(test, oxk_cancel(&request), 0);
	oxk_count(pair.first, &counts);
	expect(test, counts.pages_pinned, 0);
out:
	pair_close(&pair);
	if (!IS_ERR_VALUE(at))
		vm_munmap(at, bytes);
	return error;
}

/* Registered pages. */
static int bounce_pages(struct test *test)
{
	struct oxk_request first = {}, second = {};
	struct memory memory = {}, one = {};
	struct pair pair;
	int error, i;

	error = bounded(test, &pair) ?: memory_new(&memory, PAGES, (BOUNCE_PAGES + 1) * PAGE_SIZE, 0);
	if (!error)
		error = memory_new(&one, PAGES, 1, 0);
	if (error)
		goto out;
	memory.vector.flags = one.vector.flags = OXK_BOUNCE;
	for (i = 0; i < 3; i++) {
		memory.vector.n = BOUNCE_PAGES + 1;
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &memory.vector, &first), -E2BIG);
		expect(test, oxk_isend(pair.first, pair.peer, 1, &memory.vector, &first), -E2BIG);
		memory.vector.n = BOUNCE_PAGES;
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &memory.vector, &first), 0);
		expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &one.vector, &second), -EAGAIN);
		expect(test, oxk_isend(pair.first, pair.peer, 1, &one.vector, &second), -EAGAIN);
		expect(test, oxk_cancel(&first), 0);
	}
out:
	pair_close(&pair);
	memory_free(&memory);
	memory_free(&one);
	return error;
}

/* Nobody has registered any. */
static int no_bounce_pages(struct test *test)
{
	struct oxk_request request = {};
	struct memory memory = {};
	struct pair pair;
	int error;

	pair_params(&pair);
	pair.params.bounce_bytes = 0;
	error = pair_open(test, &pair) ?: memory_new(&memory, PAGES, 100, 0);
	if (error)
		goto out;
	memory.vector.flags = OXK_BOUNCE;
	expect(test, oxk_irecv(pair.first, 1, OXK_MASK_FULL, &memory.vector, &request), -EINVAL);
out:
	pair_close(&pair);
	memory_free(&memory);
	return error;
}

static int too_big(struct test *test)
{
	return pieces(test) ?: user_pieces(test) ?: bounce_pages(test) ?: no_bounce_pages(test);
}

const struct test_case test_bounds[] = {
	{ "too_big", too_big },
	{},
};
