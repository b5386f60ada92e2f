/* SPDX-License-Identifier: GPL-2.0
 *
 * port.h: what the files of oxk_pm.ko tell each other. device.c has the device and its requests,
 * port.c an endpoint and the rings of a process.
 *
 * The process may write anything to the shared memory at any time. So each word of it is read once
 * and checked, and what the kernel has given away or taken it knows from its own `out` and `in`.
 * What is in the slots is never looked at.
 */
#ifndef OXKP_PORT_H
#define OXKP_PORT_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../../include/oxk.h"
#include "../../include/oxk_pm.h"

/* A slot of one of the rings. */
struct oxkp_slot {
	struct oxk_request request;
	struct oxkp_port *port;
	u32 at;	    /* in its ring */
	u32 stamp;  /* of a message that comes */
	bool over;  /* of a message that comes: its callback has begun */
	bool busy;  /* the endpoint has it; cleared by its callback, last */
};

struct oxkp_user;

struct oxkp_port {
	struct oxk_endpoint *endpoint;
	struct oxkp_user *user;
	bool unbounded; /* made by who may have more than users may */
	u32 peers;
	wait_queue_head_t wait;
	bool freed; /* a slot is no longer busy, and the process wants to know */

	struct mutex lock; /* of turns */
	u32 taken;	   /* entries of the queue */
	u32 consumed;	   /* messages whose slots were given back */

	spinlock_t news_lock; /* bottom halves off */
	u32 news_begin, news_end;
	struct oxkp_news *news; /* two for each peer that there may be */

	atomic64_t turns, sleeps;

	void *area; /* struct oxkp_control and the slots; shared with the process */
	struct oxkp_slot out[OXKP_SLOTS];
	struct oxkp_slot in[OXKP_SLOTS];
};

extern atomic64_t oxkp_ports_all;

int oxkp_port_open(const struct oxkp_open *how, struct oxkp_port **made);
void oxkp_port_close(struct oxkp_port *port);
int oxkp_turn(struct oxkp_port *port);
int oxkp_wait(struct oxkp_port *port, u32 ms);
bool oxkp_has_something(struct oxkp_port *port);
int oxkp_next_news(struct oxkp_port *port, struct oxkp_news *news);

#endif
