// SPDX-License-Identifier: GPL-2.0
/* handler.c: the three answers of the unexpected handler, for eager messages and for offers. */
#include "oxk_test.h"

struct judge {
	struct pair pair;
	struct memory memory;
	struct oxk_request request;
	u32 asked, offered, here;
};

static enum oxk_verdict unexpected(const struct oxk_arrival *arrival, struct oxk_request **request,
				   struct oxk_vector *into, void *context)
{
	struct judge *judge = container_of(context, struct judge, pair);

	judge->asked++;
	judge->offered += arrival->offered;
	judge->here += arrival->here;
	switch (arrival->match & 3) {
	case 1:
		return OXK_FINISHED;
	case 2:
		*request = &judge->request;
		*into = judge->memory.vector;
		return OXK_INTO;
	}
	return OXK_CONTINUE;
}

static int one(struct test *test, struct judge *judge, u64 verdict, u64 bytes)
{
	struct memory source = {}, target = {};
	struct oxk_request send = {}, receive = {};
	struct oxk_status found;
	u32 asked = judge->asked;
	int error = 0;

	error = memory_new(&source, PAGES, bytes, 5) ?: memory_new(&target, VMALLOC, bytes, 9) ?:
		memory_new(&judge->memory, PAGES, bytes, 77);
	if (error)
		goto out;
	memory_fill(&source, bytes + verdict);
	judge->request = (struct oxk_request) {};
	init_completion(&judge->request.over);
	expect(test, oxk_isend(judge->pair.first, judge->pair.peer, verdict, &source.vector, &send),
	       0);
	if (verdict == 0) {
		until(!oxk_probe(judge->pair.second, 0, OXK_MASK_ANY, &found));
		expect(test,
		       oxk_irecv(judge->pair.second, 0, OXK_MASK_ANY, &target.vector, &receive), 0);
		expect(test, test_wait(&receive), 0);
		expect(test, memory_differs(&target, bytes + verdict, bytes), bytes);
	}
	expect(test, test_wait(&send), 0);
	until(READ_ONCE(judge->asked) != asked);
	expect(test, judge->asked, asked + 1);
	if (verdict == 2) {
		until(!oxk_test(&judge->request));
		expect(test, judge->request.status.error, 0);
		expect(test, judge->request.status.placed, bytes);
		expect(test, memory_differs(&judge->memory, bytes + verdict, bytes), bytes);
	}
	expect(test, oxk_probe(judge->pair.second, 0, OXK_MASK_ANY, &found), -ENOENT);
out:
	if (error)
		pair_close(&judge->pair);
	memory_free(&source);
	memory_free(&target);
	memory_free(&judge->memory);
	return error;
}

static int verdicts(struct test *test)
{
	static const u64 lengths[] = { 0, 100, 9000, 200001 };
	struct judge *judge = kzalloc(sizeof(*judge), GFP_KERNEL);
	u32 verdict, i;
	int error;

	if (!judge)
		return fail(test, "no memory");
	pair_params(&judge->pair);
	judge->pair.params.unexpected = unexpected;
	error = pair_open(test, &judge->pair);
	for (verdict = 0; verdict < 3 && !error; verdict++)
		for (i = 0; i < ARRAY_SIZE(lengths) && !error; i++)
			error = one(test, judge, verdict, lengths[i]);
	if (error)
		goto out;
	expect(test, judge->offered, 3);
	expect(test, judge->here > 0, 1);
out:
	pair_close(&judge->pair);
	kfree(judge);
	return error;
}

const struct test_case test_handler[] = {
	{ "verdicts", verdicts },
	{},
};
