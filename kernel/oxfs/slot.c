// SPDX-License-Identifier: GPL-2.0
/*
 * slot.c: the slots of a session. A transaction that changes something has one to itself from
 * before it is sent until it is over; slot and sequence are how the server knows one that it has
 * done.
 */
#include "oxfs_client.h"

static bool oxfs_slot_try(struct oxfs_transaction *transaction)
{
	struct oxfs_session *session = transaction->session;
	u32 half, i, end;
	bool found = false;

	spin_lock_bh(&session->lock);
	half = max(session->n_slots / 2, 1u);
	i = transaction->slot_kind == OXFS_SLOT_DATA && session->n_slots > 1 ? half : 0;
	end = transaction->slot_kind == OXFS_SLOT_DATA ? session->n_slots : half;
	for (; i < end && !found; i++) {
		struct oxfs_slot *slot = &session->slots[i];

		if (slot->taken)
			continue;
		found = true;
		slot->taken = true;
		slot->sequence++;
		transaction->slot = i;
	}
	spin_unlock_bh(&session->lock);
	return found;
}

/* Slots that are torn are mended by a server: after umount -f nobody waits for that. */
static bool oxfs_slot_is_hopeless(struct oxfs_session *session)
{
	return READ_ONCE(session->forced) || READ_ONCE(session->state) == OXFS_GONE;
}

int oxfs_slot_take(struct oxfs_transaction *transaction, bool killable)
{
	struct oxfs_session *session = transaction->session;
	bool taken = false;

	if (transaction->slot_kind == OXFS_SLOTLESS || transaction->mending)
		return 0;
	if (killable) {
		if (wait_event_killable(session->slots_free,
					(taken = oxfs_slot_try(transaction)) ||
						oxfs_slot_is_hopeless(session)))
			return -EINTR;
	} else {
		wait_event(session->slots_free,
			   (taken = oxfs_slot_try(transaction)) || oxfs_slot_is_hopeless(session));
	}
	return taken ? 0 : -EIO;
}

/* The end of a transaction in its slot. If it was sent and not answered, nobody knows whether the
 * server has done it, and the slot's next number with it: the slot is torn until that is known. */
void oxfs_slot_leave(struct oxfs_transaction *transaction)
{
	struct oxfs_slot *slot = &transaction->session->slots[transaction->slot];

	if (transaction->answered || !transaction->sent) {
		if (!transaction->answered)
			slot->sequence--;
		slot->taken = false;
	} else {
		slot->torn = true;
	}
}

/* Mends a torn slot: whatever the server answers to a CLOSE of nothing with the same number, from
 * then on it has done that number. */
void oxfs_slots_mend(struct oxfs_session *session)
{
	struct oxfs_transaction *transaction;
	u32 i;

	for (i = 0; i < OXFS_SLOTS_MAX; i++) {
		bool torn;

		spin_lock_bh(&session->lock);
		torn = session->slots[i].torn;
		session->slots[i].torn = false;
		spin_unlock_bh(&session->lock);
		if (!torn)
			continue;
		transaction = oxfs_transaction_new(session, OXFS_CLOSE, oxfs_kernel_cred);
		transaction->slot_kind = OXFS_SLOT_NAMES;
		transaction->slot = i;
		transaction->mending = true;
		transaction->sent = true;
		transaction->room = NULL;
		oxfs_transaction_submit(transaction, false);
		oxfs_transaction_put(transaction);
	}
}
