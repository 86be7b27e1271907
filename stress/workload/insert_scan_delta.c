/* SPDX-License-Identifier: MIT */
/*
 * The delta store of insert-scan: the newest value of column 0 of each row that was updated since
 * its rowset was written. One small allocation a delta, made by a client, freed by the flusher that
 * wrote it into its row, or by the client that updates the row once more.
 */
#include "stress/workload/insert_scan.h"

static struct insert_scan_delta_shard *shard_of(struct insert_scan *self, uint64_t key)
{
	return &self->shared->deltas[key % INSERT_SCAN_SHARDS];
}

/* Where the delta of the key is linked, or would be. */
static struct insert_scan_delta **place_of(struct insert_scan_delta_shard *shard, uint64_t key)
{
	struct insert_scan_delta **at =
		&shard->buckets[key / INSERT_SCAN_SHARDS % INSERT_SCAN_BUCKETS];

	while (*at != NULL && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static void free_delta(struct insert_scan *self, struct insert_scan_delta *delta)
{
	if (delta != NULL)
		hq_heap_free(self->heap, delta, sizeof(*delta) + delta->length);
}

bool insert_scan_delta_set(struct insert_scan *self, uint64_t key, uint32_t version,
			   uint64_t length)
{
	struct insert_scan_delta_shard *const shard = shard_of(self, key);
	struct insert_scan_delta *const delta = hq_heap_alloc(self->heap, sizeof(*delta) + length);
	struct insert_scan_delta **at, *old;

	if (delta == NULL)
		return false;
	*delta = (struct insert_scan_delta){ .key = key,
					     .version = version,
					     .length = (uint32_t)length };
	insert_scan_fill(delta->value, length, key, 0, version);
	pthread_mutex_lock(&shard->lock);
	at = place_of(shard, key);
	old = *at;
	delta->next = old != NULL ? old->next : NULL;
	*at = delta;
	if (old == NULL)
		hq_fetch_add_relaxed(&shard->count, 1);
	pthread_mutex_unlock(&shard->lock);
	free_delta(self, old);
	return true;
}

enum insert_scan_newer insert_scan_delta_get(struct insert_scan *self, uint64_t key,
					     uint32_t *version, struct insert_scan_vector *to)
{
	struct insert_scan_delta_shard *const shard = shard_of(self, key);
	enum insert_scan_newer newer = INSERT_SCAN_NONE_NEWER;
	const struct insert_scan_delta *delta;

	if (hq_load_relaxed(&shard->count) == 0)
		return INSERT_SCAN_NONE_NEWER;
	to->used = 0;
	pthread_mutex_lock(&shard->lock);
	delta = *place_of(shard, key);
	if (delta != NULL && delta->version > *version) {
		newer = insert_scan_append(self, to, delta->value, delta->length)
				? INSERT_SCAN_NEWER
				: INSERT_SCAN_REFUSED;
		*version = newer == INSERT_SCAN_NEWER ? delta->version : *version;
	}
	pthread_mutex_unlock(&shard->lock);
	return newer;
}

void insert_scan_delta_applied(struct insert_scan *self, uint64_t key, uint32_t version)
{
	struct insert_scan_delta_shard *const shard = shard_of(self, key);
	struct insert_scan_delta **at, *gone;

	pthread_mutex_lock(&shard->lock);
	at = place_of(shard, key);
	gone = *at;
	if (gone != NULL && gone->version <= version) {
		*at = gone->next;
		hq_fetch_add_relaxed(&shard->count, UINT64_MAX);
	} else {
		gone = NULL;
	}
	pthread_mutex_unlock(&shard->lock);
	free_delta(self, gone);
}

void insert_scan_delta_clear(struct insert_scan *self)
{
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++) {
		for (uint32_t j = 0; j < INSERT_SCAN_BUCKETS; j++) {
			struct insert_scan_delta *delta = self->shared->deltas[i].buckets[j];

			while (delta != NULL) {
				struct insert_scan_delta *const next = delta->next;

				free_delta(self, delta);
				delta = next;
			}
		}
	}
}
