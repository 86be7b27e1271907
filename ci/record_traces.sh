#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records the traces in scenarios/traces anew: record_traces.sh [NAME...]. They are bounded by the work given to
# each program, not by cutting: a trace that ends in the middle would leave more behind than the program does.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD
build=$top/${BUILD:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
names=("$@")
[ $# != 0 ] || names=(db_bench gcc python3 redis sqlite3)

record() {
	local name=$1
	shift
	"$build/heapquake" record --max-size=100KiB -o "$top/scenarios/traces/$name.hqtrace" "$@"
}

# A key-value store: memtables, blocks, iterators; work in the background.
db_bench() {
	record db_bench -- db_bench --db="$folder/db" --num=1500 --threads=2 --value_size=400 --write_buffer_size=200000 \
		--benchmarks=fillrandom,readrandom,readseq >/dev/null
}

# The compiler proper: many small blocks that live long, and obstacks.
gcc() {
	local i
	for i in $(seq 9); do
		echo "int f$i(const int *a, int n) { int s = $i; for (int i = 0; i < n; i++) s += a[i] * s ^ i; return s; }"
	done >"$folder/many.c"
	record gcc -- "$(command gcc -print-prog-name=cc1)" -quiet -O2 "$folder/many.c" -o /dev/null
}

# An interpreter, whose objects are blocks of malloc here.
python3() {
	PYTHONMALLOC=malloc record python3 -- /usr/bin/python3 -S -c '
words = {}
for i in range(5000):
    words.setdefault(str(i * 7919 % 2003), []).append((i, "x" * (i % 97)))
print(len(sorted(words.items(), key=lambda item: len(item[1]))))
'
}

# A server of requests, each with buffers of its own, and the data that stay.
redis() {
	local server
	record redis -- redis-server --port 0 --save '' --unixsocket "$folder/socket" --dir "$folder" >/dev/null &
	server=$!
	while [ ! -S "$folder/socket" ]; do sleep 0.05; done
	redis-benchmark -s "$folder/socket" -q -r 2000 -n 2500 -P 8 -c 10 -d 150 \
		-t set,get,lpush,hset,zadd,lrange_100 >/dev/null 2>&1
	redis-cli -s "$folder/socket" shutdown nosave || true
	wait $server
}

# A library within a program: a cache of pages, and short-lived pieces of statements.
sqlite3() {
	record sqlite3 -- sqlite3 :memory: "
		create table t(id integer primary key, name text, size int);
		with recursive c(x) as (values(1) union all select x + 1 from c limit 16000)
			insert into t select x, printf('%0*d', 10 + x % 90, x * 7919 % 4001), x * 31 % 977 from c;
		create index by_name on t(name);
		create index by_size on t(size);
		select count(*), sum(size) from t where name > '2' group by size % 7;
		update t set name = name || id where id % 3 = 0;
		delete from t where id % 5 = 0;
		select group_concat(name) from (select name from t order by name limit 500);" >/dev/null 2>&1
}

for name in "${names[@]}"; do
	"$name"
done
