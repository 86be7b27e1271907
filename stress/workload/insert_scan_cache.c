/* SPDX-License-Identifier: MIT */
/*
 * The block cache of insert-scan: copies of blocks within a budget of bytes, the longest unused one
 * goes first. In shards, each with a lock that is never held during a call of the allocator. A
 * block that falls out while it is read is freed by its last reader.
 */
#include "stress/workload/insert_scan.h"

static struct insert_scan_cached **bucket_of(struct insert_scan_cache_shard *shard, uint64_t hash)
{
	return &shard->buckets[hash / INSERT_SCAN_SHARDS % INSERT_SCAN_BUCKETS];
}

static uint64_t hash_of(uint64_t rowset, uint64_t index)
{
	return insert_scan_mix(rowset * 0x9e3779b97f4a7c15ull + index);
}

static void unlink_use(struct insert_scan_cache_shard *shard, struct insert_scan_cached *cached)
{
	if (cached->newer != NULL)
		cached->newer->older = cached->older;
	else
		shard->newest = cached->older;
	if (cached->older != NULL)
		cached->older->newer = cached->newer;
	else
		shard->oldest = cached->newer;
}

static void make_newest(struct insert_scan_cache_shard *shard, struct insert_scan_cached *cached)
{
	cached->newer = NULL;
	cached->older = shard->newest;
	if (shard->newest != NULL)
		shard->newest->newer = cached;
	else
		shard->oldest = cached;
	shard->newest = cached;
}

static struct insert_scan_cached *find(struct insert_scan_cache_shard *shard, uint64_t hash,
				       uint64_t rowset, uint64_t index)
{
	struct insert_scan_cached *cached = *bucket_of(shard, hash);

	while (cached != NULL && (cached->rowset != rowset || cached->index != index))
		cached = cached->chain;
	return cached;
}

static void take_out(struct insert_scan_cache_shard *shard, struct insert_scan_cached *cached)
{
	struct insert_scan_cached **at = bucket_of(shard, hash_of(cached->rowset, cached->index));

	while (*at != cached)
		at = &(*at)->chain;
	*at = cached->chain;
	unlink_use(shard, cached);
	shard->bytes -= cached->size;
}

/* What nobody pins of the oldest, chained; the shard is then within its share of the budget. */
static struct insert_scan_cached *evict(struct insert_scan_cache_shard *shard, uint64_t budget)
{
	struct insert_scan_cached *victims = NULL;

	while (shard->bytes > budget && shard->oldest != NULL) {
		struct insert_scan_cached *const oldest = shard->oldest;

		take_out(shard, oldest);
		if (--oldest->pins == 0) {
			oldest->chain = victims;
			victims = oldest;
		}
	}
	return victims;
}

static void free_all(struct insert_scan *self, struct insert_scan_cached *victims)
{
	while (victims != NULL) {
		struct insert_scan_cached *const next = victims->chain;

		hq_heap_free(self->heap, victims, victims->size);
		victims = next;
	}
}

static struct insert_scan_cached *load(struct insert_scan *self,
				       const struct insert_scan_rowset *rowset, uint64_t index)
{
	const struct insert_scan_place *const place = &insert_scan_places(rowset)[index];
	const uint64_t size = offsetof(struct insert_scan_cached, block) + place->bytes;
	struct insert_scan_cached *const cached = hq_heap_alloc(self->heap, size);

	if (cached == NULL)
		return NULL;
	/* Two pins: the shard's and the reader's. */
	cached->rowset = rowset->id;
	cached->index = index;
	cached->size = size;
	cached->pins = 2;
	if (insert_scan_place_read(self, place, &cached->block))
		return cached;
	hq_heap_free(self->heap, cached, size);
	return NULL;
}

/* Another thread may have been faster: then its copy stays, and this one goes. */
static struct insert_scan_cached *enter(struct insert_scan *self,
					struct insert_scan_cache_shard *shard, uint64_t hash,
					struct insert_scan_cached *loaded)
{
	struct insert_scan_cached *victims;

	pthread_mutex_lock(&shard->lock);
	struct insert_scan_cached *const other = find(shard, hash, loaded->rowset, loaded->index);

	if (other != NULL) {
		other->pins++;
		victims = loaded;
		victims->chain = NULL;
	} else {
		loaded->chain = *bucket_of(shard, hash);
		*bucket_of(shard, hash) = loaded;
		make_newest(shard, loaded);
		shard->bytes += loaded->size;
		victims = evict(shard, self->options->cache / INSERT_SCAN_SHARDS);
	}
	pthread_mutex_unlock(&shard->lock);
	free_all(self, victims);
	return other != NULL ? other : loaded;
}

struct insert_scan_cached *insert_scan_cache_get(struct insert_scan *self,
						 const struct insert_scan_rowset *rowset,
						 uint64_t index)
{
	const uint64_t hash = hash_of(rowset->id, index);
	struct insert_scan_cache_shard *const shard =
		&self->shared->cache[hash % INSERT_SCAN_SHARDS];
	struct insert_scan_cached *cached;

	pthread_mutex_lock(&shard->lock);
	cached = find(shard, hash, rowset->id, index);
	if (cached != NULL) {
		cached->pins++;
		unlink_use(shard, cached);
		make_newest(shard, cached);
	}
	pthread_mutex_unlock(&shard->lock);
	if (cached != NULL) {
		hq_fetch_add_relaxed(&self->shared->tally.cache_hits, 1);
		return cached;
	}
	hq_fetch_add_relaxed(&self->shared->tally.cache_misses, 1);
	cached = load(self, rowset, index);
	return cached != NULL ? enter(self, shard, hash, cached) : NULL;
}

void insert_scan_cache_put(struct insert_scan *self, struct insert_scan_cached *cached)
{
	const uint64_t hash = hash_of(cached->rowset, cached->index);
	struct insert_scan_cache_shard *const shard =
		&self->shared->cache[hash % INSERT_SCAN_SHARDS];
	bool last;

	pthread_mutex_lock(&shard->lock);
	last = --cached->pins == 0;
	pthread_mutex_unlock(&shard->lock);
	if (last)
		hq_heap_free(self->heap, cached, cached->size);
}

void insert_scan_cache_clear(struct insert_scan *self)
{
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++)
		free_all(self, evict(&self->shared->cache[i], 0));
}
