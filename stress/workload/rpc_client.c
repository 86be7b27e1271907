/* SPDX-License-Identifier: MIT */
/*
 * Clients of rpc. One sends a request, waits for its reply and checks it; in an open loop it does
 * so at times that were drawn beforehand, and a request that had to wait for the one before has
 * been waiting since its own time: whoever is stalled then shows in the latencies of all who queue
 * up.
 */
#include "stress/workload/rpc.h"

#include <errno.h>
#include <math.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/units.h"

#define SLICE_NS (5 * HQ_MS)

struct client {
	int sockets[RPC_CONNECTIONS]; /* our ends; 0: none */
	struct hq_random random;
	uint64_t next_ns; /* when the next request should be sent; open loop */
};

int rpc_client_prepare(struct rpc *self)
{
	struct client *const client = hq_host_map(sizeof(*client));

	if (client == NULL)
		return -ENOMEM;
	client->random = hq_random_stream(self->seed, self->index, 0);
	self->state = client;
	return 0;
}

/* Makes a pair, keeps one end and gives the other one to a reactor. */
static bool open_connection(struct rpc *self, uint64_t index)
{
	struct client *const client = self->state;
	const uint32_t reactor = (uint32_t)(index % self->options->reactors);
	struct rpc_door *const door = &self->shared->doors[self->index][reactor];
	int ends[2];

	if (client->sockets[index] != 0)
		return true;
	const int64_t slot = hq_ring_reserve(&door->ring, RPC_NEW);

	if (slot < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return false;
	client->sockets[index] = ends[0];
	door->sockets[slot] = ends[1];
	hq_ring_publish(&door->ring);
	return true;
}

static void close_connection(struct client *client, uint64_t index)
{
	if (client->sockets[index] != 0)
		close(client->sockets[index]);
	client->sockets[index] = 0;
}

/* Fills what is sent with something that can be checked. */
static void fill(uint8_t *bytes, uint64_t count, uint64_t number)
{
	for (uint64_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)((number + i) * 0x9e3779b97f4a7c15ull >> 56);
}

/* The bytes of a reply, read into a buffer of its own and checked. */
static bool read_reply(struct rpc *self, int socket, const struct rpc_header *header)
{
	uint8_t *const bytes = hq_heap_alloc(self->heap, header->bytes);
	uint8_t dropped[256];
	uint64_t left = header->bytes;

	if (bytes != NULL) {
		const bool whole = rpc_read(self, socket, bytes, header->bytes);
		const uint64_t sum = whole ? rpc_sum(bytes, header->bytes) : header->sum;

		if (sum != header->sum)
			hq_heap_wrong_data(self->heap, bytes, header->sum, sum);
		hq_heap_free(self->heap, bytes, header->bytes);
		return whole;
	}
	hq_heap_missed(self->heap);
	while (left != 0) {
		const uint64_t some = left < sizeof(dropped) ? left : sizeof(dropped);

		if (!rpc_read(self, socket, dropped, some))
			return false;
		left -= some;
	}
	return true;
}

/* False: the connection is of no more use. */
static bool await_reply(struct rpc *self, int socket, uint64_t number)
{
	struct rpc_header header;

	if (!rpc_read(self, socket, &header, sizeof(header)))
		return false;
	if (header.number != number)
		hq_heap_wrong_data(self->heap, &header, number, header.number);
	if (header.refused) {
		hq_heap_missed(self->heap);
		return true;
	}
	return read_reply(self, socket, &header);
}

/* A request and its reply. False: the connection is of no more use. */
static bool exchange(struct rpc *self, int socket, uint64_t number, uint64_t bytes)
{
	uint8_t *const body = hq_heap_alloc(self->heap, bytes);
	struct rpc_header header = { .number = number, .bytes = (uint32_t)bytes };

	if (body == NULL) {
		hq_heap_missed(self->heap);
		return true;
	}
	fill(body, bytes, number);
	header.sum = rpc_sum(body, bytes);
	const bool sent =
		rpc_write(socket, &header, sizeof(header)) && rpc_write(socket, body, bytes);

	hq_heap_free(self->heap, body, bytes);
	return sent && await_reply(self, socket, number);
}

/* Sleeps until the next request is due; returns by how much it is late. */
static uint64_t await_turn(struct rpc *self)
{
	struct client *const client = self->state;
	const double mean_ns = 1e9 / self->options->rate;
	const double draw = (double)(hq_random_below(&client->random, 1u << 30) + 1) / (1u << 30);

	if (self->options->arrivals == RPC_CLOSED)
		return 0;
	if (client->next_ns == 0)
		client->next_ns = hq_host_now_ns();
	client->next_ns +=
		(uint64_t)(self->options->arrivals == RPC_POISSON ? -log(draw) * mean_ns : mean_ns);
	for (;;) {
		const uint64_t now_ns = hq_host_now_ns();

		if (now_ns >= client->next_ns || hq_host_stopping())
			return now_ns > client->next_ns ? now_ns - client->next_ns : 0;
		const uint64_t left_ns = client->next_ns - now_ns;

		hq_host_sleep_ns(left_ns < SLICE_NS ? left_ns : SLICE_NS);
		hq_heap_alive(self->heap);
	}
}

static void call(struct rpc *self, uint64_t number)
{
	struct client *const client = self->state;
	const uint64_t index = number % self->options->connections;
	const uint64_t bytes = hq_random_size(&client->random, &self->options->body);
	const uint64_t late_ns = await_turn(self);

	hq_heap_op_begin_late(self->heap, late_ns);
	if (!open_connection(self, index)) {
		hq_heap_missed(self->heap);
		hq_host_sleep_ns(HQ_MS);
	} else if (!exchange(self, client->sockets[index], number, bytes)) {
		close_connection(client, index);
	}
	hq_heap_op_end(self->heap);
	if ((number + 1) % self->options->reconnect == 0)
		close_connection(client, index);
}

void rpc_client_run(struct rpc *self)
{
	struct client *const client = self->state;

	for (uint64_t i = 0; i < self->options->requests && !hq_host_stopping(); i++)
		call(self, i);
	for (uint64_t i = 0; i < self->options->connections; i++)
		close_connection(client, i);
	/* Pairs with the acquire in the reactors: the last connections are at their doors. */
	hq_fetch_add_acq_rel(&self->shared->clients_done, 1);
}

void rpc_client_release(struct rpc *self)
{
	struct client *const client = self->state;

	for (uint64_t i = 0; i < self->options->connections; i++)
		close_connection(client, i);
}
