// SPDX-License-Identifier: GPL-2.0
/*
 * area.c: the memory of requests. Whatever kind a vector has, it becomes pieces of pages here, in
 * blocks of a pool that was made when the endpoint was opened; nothing else knows the kinds. With
 * OXK_BOUNCE a second area of the endpoint's own pages stands before the caller's.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "oxk_shim.h"

/* Pages that are pinned by one call. */
#define OXK_PINNED_AT_ONCE 16u

int oxk_pool_new(struct oxk_endpoint *endpoint)
{
	u64 pieces = endpoint->params.pieces ?: (u64)endpoint->params.requests * OXK_PIECES;
	u32 i;

	/* Every request may have a block that is not full. */
	endpoint->n_blocks = DIV_ROUND_UP_ULL(pieces, OXK_BLOCK_PIECES) + endpoint->params.requests;
	endpoint->n_bounce = endpoint->params.bounce_bytes >> PAGE_SHIFT;
	endpoint->blocks =
		kvcalloc(endpoint->n_blocks, sizeof(*endpoint->blocks), GFP_KERNEL_ACCOUNT);
	endpoint->bounce =
		kvcalloc(endpoint->n_bounce + 1, sizeof(*endpoint->bounce), GFP_KERNEL_ACCOUNT);
	if (!endpoint->blocks || !endpoint->bounce)
		return -ENOMEM;
	for (i = 0; i < endpoint->n_blocks; i++) {
		endpoint->blocks[i].next = endpoint->free_blocks;
		endpoint->free_blocks = &endpoint->blocks[i];
	}
	endpoint->n_free_blocks = endpoint->n_blocks;
	while (endpoint->n_free_bounce < endpoint->n_bounce) {
		struct page *page = alloc_page(GFP_KERNEL_ACCOUNT);

		if (!page)
			return -ENOMEM;
		endpoint->bounce[endpoint->n_free_bounce++] = page;
	}
	return 0;
}

/* All areas have been given back. */
void oxk_pool_free(struct oxk_endpoint *endpoint)
{
	while (endpoint->n_free_bounce)
		__free_page(endpoint->bounce[--endpoint->n_free_bounce]);
	kvfree(endpoint->bounce);
	kvfree(endpoint->blocks);
}

/* Adds a piece; 0 or -EAGAIN. Pieces that continue the last one become part of it. */
static int oxk_area_add(struct oxk_endpoint *endpoint, struct oxk_area *area, struct page *page,
			u32 offset, u64 bytes)
{
	struct oxk_block *block = area->at;
	u32 n = area->n % OXK_BLOCK_PIECES;
	struct bio_vec *last;

	if (area->n) {
		last = &block->pieces[n ? n - 1 : OXK_BLOCK_PIECES - 1];
		/* Pages of a user's are let go one by one, in runs. */
		if (page_to_phys(page) + offset ==
			    page_to_phys(last->bv_page) + last->bv_offset + last->bv_len &&
		    last->bv_len + bytes <= (1u << 30) && !offset) {
			last->bv_len += bytes;
			block->bytes += bytes;
			area->bytes += bytes;
			return 0;
		}
	}
	if (!n) {
		spin_lock_bh(&endpoint->pool_lock);
		block = endpoint->free_blocks;
		if (block) {
			endpoint->free_blocks = block->next;
			endpoint->n_free_blocks--;
		}
		spin_unlock_bh(&endpoint->pool_lock);
		if (!block)
			return -EAGAIN;
		block->next = NULL;
		block->bytes = 0;
		if (area->at)
			area->at->next = block;
		else
			area->first = block;
		area->at = block;
	}
	block->pieces[n] =
		(struct bio_vec) { .bv_page = page, .bv_offset = offset, .bv_len = bytes };
	block->bytes += bytes;
	area->bytes += bytes;
	area->n++;
	return 0;
}

/* Page by page: vmalloc, or a module's data. The kernel's own function for it is not exported
 * by 6.1. */
static bool oxk_is_mapped(const void *at)
{
	return is_vmalloc_addr(at) ||
	       ((unsigned long)at >= MODULES_VADDR && (unsigned long)at < MODULES_END);
}

static int oxk_add_kernel(struct oxk_endpoint *endpoint, struct oxk_area *area,
			  const struct kvec *entry)
{
	const u8 *at = entry->iov_base;
	u64 left = entry->iov_len;
	int error = 0;

	if (left && !oxk_is_mapped(at)) {
		if (!virt_addr_valid(at) || !virt_addr_valid(at + left - 1))
			return -EFAULT;
		while (left && !error) {
			u64 n = min_t(u64, left, 1u << 30);

			error = oxk_area_add(endpoint, area, virt_to_page(at), offset_in_page(at),
					     n);
			at += n;
			left -= n;
		}
		return error;
	}
	while (left && !error) {
		u32 n = min_t(u64, left, PAGE_SIZE - offset_in_page(at));
		struct page *page = vmalloc_to_page(at);

		if (!page)
			return -EFAULT;
		error = oxk_area_add(endpoint, area, page, offset_in_page(at), n);
		at += n;
		left -= n;
	}
	return error;
}

/* Pins what an entry names. What was pinned is in the area, also when it fails. */
static int oxk_add_user(struct oxk_endpoint *endpoint, struct oxk_area *area,
			const struct iovec *entry)
{
	unsigned int flags = FOLL_LONGTERM | (area->written ? FOLL_WRITE : 0);
	unsigned long at = (unsigned long)entry->iov_base;
	struct page *pages[OXK_PINNED_AT_ONCE];
	u64 left = entry->iov_len;
	int n, i, error = 0;

	if (!access_ok(entry->iov_base, left))
		return -EFAULT;
	while (left) {
		n = min_t(u64, DIV_ROUND_UP_ULL(offset_in_page(at) + left, PAGE_SIZE),
			  OXK_PINNED_AT_ONCE);
		n = pin_user_pages_fast(at, n, flags, pages);
		if (n <= 0)
			return -EFAULT;
		for (i = 0; i < n; i++) {
			u32 bytes = min_t(u64, left, PAGE_SIZE - offset_in_page(at));

			if (!error)
				error = oxk_area_add(endpoint, area, pages[i], offset_in_page(at),
						     bytes);
			if (error) {
				unpin_user_page(pages[i]);
				continue;
			}
			area->pinned++;
			at += bytes;
			left -= bytes;
		}
		if (error)
			return error;
	}
	return 0;
}

static int oxk_add_entry(struct oxk_endpoint *endpoint, struct oxk_area *area,
			 const struct oxk_vector *vector, u32 i)
{
	struct iovec entry;

	switch (vector->kind) {
	case OXK_KERNEL:
		return oxk_add_kernel(endpoint, area, &vector->kernel[i]);
	case OXK_PAGES:
		if (!vector->pages[i].bv_len)
			return 0;
		return oxk_area_add(endpoint, area, vector->pages[i].bv_page,
				    vector->pages[i].bv_offset, vector->pages[i].bv_len);
	case OXK_USER:
		if (copy_from_user(&entry, &vector->user[i], sizeof(entry)))
			return -EFAULT;
		return oxk_add_user(endpoint, area, &entry);
	}
	return -EINVAL;
}

/* Gives pieces and blocks back. Process context if pages are pinned. */
static void oxk_area_release(struct oxk_endpoint *endpoint, struct oxk_area *area, bool bounce)
{
	struct oxk_block *block, *next;
	u32 left = area->n, i;

	if (area->pinned || bounce) {
		for (block = area->first; block; block = block->next) {
			for (i = 0; i < OXK_BLOCK_PIECES && left; i++, left--) {
				struct bio_vec *piece = &block->pieces[i];
				u64 n = DIV_ROUND_UP_ULL(piece->bv_offset + (u64)piece->bv_len,
							 PAGE_SIZE);

				if (!bounce) {
					unpin_user_page_range_dirty_lock(piece->bv_page, n,
									 area->written);
					continue;
				}
				spin_lock_bh(&endpoint->pool_lock);
				while (n--)
					endpoint->bounce[endpoint->n_free_bounce++] =
						piece->bv_page + n;
				spin_unlock_bh(&endpoint->pool_lock);
			}
		}
		oxk_add(endpoint, pages_pinned, -(s64)area->pinned);
		atomic64_sub(area->pinned, &oxk_pages_pinned_all);
	}
	spin_lock_bh(&endpoint->pool_lock);
	for (block = area->first; block; block = next) {
		next = block->next;
		block->next = endpoint->free_blocks;
		endpoint->free_blocks = block;
		endpoint->n_free_blocks++;
	}
	spin_unlock_bh(&endpoint->pool_lock);
	memset(area, 0, sizeof(*area));
}

static int oxk_add_bounce(struct oxk_endpoint *endpoint, struct oxk_area *area, u64 bytes)
{
	struct page *page;
	u32 n;
	int error = 0;

	if (!endpoint->n_bounce)
		return -EINVAL;
	if (bytes > (u64)endpoint->n_bounce << PAGE_SHIFT)
		return -E2BIG;
	while (bytes && !error) {
		spin_lock_bh(&endpoint->pool_lock);
		page = endpoint->n_free_bounce ? endpoint->bounce[--endpoint->n_free_bounce] : NULL;
		spin_unlock_bh(&endpoint->pool_lock);
		if (!page)
			return -EAGAIN;
		n = min_t(u64, bytes, PAGE_SIZE);
		error = oxk_area_add(endpoint, area, page, 0, n);
		if (error) {
			spin_lock_bh(&endpoint->pool_lock);
			endpoint->bounce[endpoint->n_free_bounce++] = page;
			spin_unlock_bh(&endpoint->pool_lock);
		}
		bytes -= n;
	}
	return error;
}

/* Copies between the two areas of a request. */
static void oxk_bounce(struct oxk_endpoint *endpoint, struct oxk_area *to, struct oxk_area *from,
		       u64 bytes)
{
	u64 offset = 0;

	while (offset < bytes) {
		struct bio_vec piece = oxk_area_piece(from, offset, bytes - offset);
		u32 n = min_t(u32, piece.bv_len, PAGE_SIZE - piece.bv_offset);
		u8 *data = kmap_local_page(piece.bv_page);

		oxk_area_write(to, offset, data + piece.bv_offset, n);
		kunmap_local(data);
		offset += n;
	}
	oxk_add(endpoint, bytes_bounced, bytes);
}

/* The area that the network reads or writes. */
struct oxk_area *oxk_request_area(struct oxk_request *request)
{
	return request->bounce.first ? &request->bounce : &request->memory;
}

/* Its memory can be let go only where it is permitted to sleep, or takes long. */
bool oxk_request_is_slow(const struct oxk_request *request)
{
	return request->memory.pinned || request->bounce.first;
}

void oxk_request_release(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	oxk_area_release(endpoint, &request->bounce, true);
	oxk_area_release(endpoint, &request->memory, false);
}

/* A receive is over: what has come goes where the caller wanted it. */
void oxk_request_unbounce(struct oxk_endpoint *endpoint, struct oxk_request *request)
{
	if (request->bounce.first && request->memory.first)
		oxk_bounce(endpoint, &request->memory, &request->bounce, request->status.placed);
}

/* Makes pieces of a vector. On failure nothing is held. */
int oxk_request_take(struct oxk_endpoint *endpoint, const struct oxk_vector *vector, bool receive,
		     struct oxk_request *request)
{
	struct oxk_area *area = &request->memory;
	u64 most = (u64)endpoint->n_blocks * OXK_BLOCK_PIECES;
	int error = 0;
	u32 i;

	memset(&request->memory, 0, sizeof(request->memory));
	memset(&request->bounce, 0, sizeof(request->bounce));
	area->written = receive;
	if (vector->kind > OXK_PAGES || vector->flags & ~OXK_BOUNCE)
		return -EINVAL;
	/* Also not in a callback, which may run in a process with softirqs off. */
	if (vector->kind == OXK_USER && (in_interrupt() || !current->mm))
		return -EINVAL;
	for (i = 0; i < vector->n && !error; i++)
		error = oxk_add_entry(endpoint, area, vector, i);
	if (area->pinned) {
		oxk_add(endpoint, pages_pinned, area->pinned);
		oxk_add(endpoint, pages_pinned_all, area->pinned);
		atomic64_add(area->pinned, &oxk_pages_pinned_all);
	}
	/* With the whole pool to itself it would not have fitted either. */
	if (error == -EAGAIN && area->n >= most)
		error = -E2BIG;
	if (!error && vector->flags & OXK_BOUNCE && area->bytes) {
		error = oxk_add_bounce(endpoint, &request->bounce, area->bytes);
		request->bounce.at = NULL;
		area->at = NULL;
		if (!error && !receive)
			oxk_bounce(endpoint, &request->bounce, area, area->bytes);
	}
	request->bounce.at = NULL;
	area->at = NULL;
	if (error) {
		oxk_request_release(endpoint, request);
	} else if (request->bounce.first && !receive) {
		/* The caller's memory is not needed any more. */
		oxk_area_release(endpoint, area, false);
	}
	return error;
}

/* The longest piece from `offset` on that has at most `bytes` bytes, within the area. */
struct bio_vec oxk_area_piece(struct oxk_area *area, u64 offset, u64 bytes)
{
	struct bio_vec piece;
	u64 rest;
	u32 i;

	if (!area->at || offset < area->at_offset) {
		area->at = area->first;
		area->at_offset = 0;
	}
	while (offset - area->at_offset >= area->at->bytes) {
		area->at_offset += area->at->bytes;
		area->at = area->at->next;
	}
	rest = offset - area->at_offset;
	for (i = 0; rest >= area->at->pieces[i].bv_len; i++)
		rest -= area->at->pieces[i].bv_len;
	piece = area->at->pieces[i];
	piece.bv_len = min_t(u64, piece.bv_len - rest, bytes);
	rest += piece.bv_offset;
	piece.bv_page += rest >> PAGE_SHIFT;
	piece.bv_offset = offset_in_page(rest);
	return piece;
}

void oxk_area_write(struct oxk_area *area, u64 offset, const u8 *data, u64 bytes)
{
	while (bytes) {
		struct bio_vec piece = oxk_area_piece(area, offset, bytes);
		u32 n = min_t(u32, piece.bv_len, PAGE_SIZE - piece.bv_offset);

		memcpy_to_page(piece.bv_page, piece.bv_offset, data, n);
		data += n;
		offset += n;
		bytes -= n;
	}
}
