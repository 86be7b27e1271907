#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The heap guard between ordinary programs and their allocators: silent where nothing is wrong, and
# where something is, it says whose fault it was.

# `make guard` takes all five; `make check` is to stay short.
ALLOCATORS=${ALLOCATORS:-"glibc jemalloc bedrock"}

# guarded CALLS ALLOCATOR GUARD COMMAND...: nothing found, in no fewer calls: about half of what the
# command makes, more than its shell or the program that starts the others makes alone.
guarded() {
	local calls=$1 allocator=$2 guard=$3
	shift 3
	expect 0 "$HQ" run --results=none -q "--allocator=$allocator" "--guard=$guard" --check "guard.calls >= $calls" -- "$@"
}

needs() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
}

# on_all CALLS COMMAND...
on_all() {
	local allocator calls=$1
	shift
	for allocator in $ALLOCATORS; do
		guarded "$calls" "$allocator" full "$@"
	done
	guarded "$calls" glibc canary "$@"
	guarded "$calls" jemalloc 1/64 "$@"
}

test_guard_is_silent_with_threads() {
	on_all 70k "$BUILD/targets/honest"
}

# mimalloc 2.0.9 gives blocks of 256, 512 and 1024 bytes that are not aligned to their own size.
test_guard_is_silent_with_every_function_and_size() {
	local allocator
	for allocator in $ALLOCATORS; do
		[ "$allocator" = mimalloc ] || guarded 120k "$allocator" full "$BUILD/targets/heaps" mix
	done
	guarded 120k glibc canary "$BUILD/targets/heaps" mix
	guarded 120k jemalloc 1/64 "$BUILD/targets/heaps" mix
}

test_guard_is_silent_with_cpp() {
	needs g++
	cat >work.cpp <<-'C'
		#include <map>
		#include <memory>
		#include <new>
		#include <stdexcept>
		#include <string>
		#include <thread>
		#include <vector>
		struct alignas(128) wide { char bytes[300]; };
		static void work(unsigned seed) {
		    std::map<unsigned, std::string> names;
		    std::vector<std::unique_ptr<wide>> wides;
		    for (unsigned i = 0; i < 20000; i++) {
		        names[i % 700] = std::string(i * seed % 900, 'x');
		        wides.push_back(std::make_unique<wide>());
		        if (wides.size() > 100) wides.clear();
		        delete[] new (std::nothrow) long[i % 50];
		        try { if (i % 100 == 0) throw std::runtime_error("thrown " + names[i % 700]); }
		        catch (const std::exception &) { names.erase(i % 700); }
		    }
		}
		int main(int argc, char **) {
		    std::vector<std::thread> threads;
		    for (unsigned i = 1; i <= 4; i++) threads.emplace_back(work, i);
		    for (auto &thread : threads) thread.join();
		    if (argc == 1) return 0;
		    try { ::operator delete(::operator new(~0ul >> 2)); return 1; } catch (const std::bad_alloc &) {}
		    return 0;
		}
	C
	g++ -std=c++17 -O1 -pthread -o work work.cpp
	on_all 240k ./work
	# What cannot be is refused by an exception, whatever stands in front of malloc.
	guarded 240k glibc full ./work too-much
	guarded 240k jemalloc 1/64 ./work too-much
}

test_guard_is_silent_with_rust() {
	needs rustc
	cat >work.rs <<-'R'
		use std::collections::HashMap;
		use std::sync::{mpsc, Arc};
		use std::thread;
		#[repr(align(64))]
		struct Wide([u8; 200]);
		fn main() {
		    let (send, receive) = mpsc::channel::<Vec<Box<Wide>>>();
		    let shared = Arc::new((0..100).map(|i| "s".repeat(i)).collect::<Vec<_>>());
		    let threads: Vec<_> = (0..4u64).map(|t| {
		        let (send, shared) = (send.clone(), shared.clone());
		        thread::spawn(move || {
		            let mut map = HashMap::new();
		            for i in 0..10000u64 {
		                map.insert(i % 500, vec![0u8; (i * (t + 3) % 3000) as usize]);
		                map.entry(i % 300).or_default().extend_from_slice(shared[(i % 100) as usize].as_bytes());
		                if i % 50 == 0 {
		                    send.send((0..9).map(|b| Box::new(Wide([b; 200]))).collect()).unwrap();
		                }
		            }
		        })
		    }).collect();
		    drop(send);
		    let sum: u64 = receive.iter().flatten().map(|w| w.0[7] as u64).sum();
		    threads.into_iter().for_each(|t| t.join().unwrap());
		    assert_eq!(sum, 4 * 200 * 36);
		}
	R
	rustc -o work work.rs 2>rustc.err || skip "rustc builds nothing here: $(tail -n 1 rustc.err)"
	on_all 60k ./work
}

# postgres DATA: a server with clients and a vacuum, started and stopped.
postgres_session() {
	cat >session.sh <<-'S'
		set -e
		pg=$1 data=$2
		exec 2>&1
		trap '"$pg/pg_ctl" -D "$data" -m immediate stop >/dev/null || true' EXIT
		"$pg/pg_ctl" -D "$data" -w -t 60 -l "$data/log" -o "-c listen_addresses= -k $data -F -c shared_buffers=16MB" start >/dev/null
		"$pg/pgbench" -h "$data" -i -s 1 -q postgres >/dev/null
		"$pg/pgbench" -h "$data" -c 4 -j 2 -t "$3" postgres >/dev/null
		"$pg/psql" -h "$data" -v ON_ERROR_STOP=1 -qAt -c "drop table if exists t" -c "create table t as select g, repeat('x', g % 3000) v from generate_series(1, 5000) g" \
		    -c "create index on t (md5(v))" -c "vacuum analyze t" -c "select sum(length(v)) from t where md5(v) > 'a'" postgres >/dev/null
		trap - EXIT
		"$pg/pg_ctl" -D "$data" -m fast -w stop >/dev/null
	S
}

test_guard_is_silent_with_postgresql() {
	local pg allocator user=() data=$PWD/data
	pg=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
	if [ ! -x "${pg:-}/initdb" ] || [ ! -x "$pg/pgbench" ]; then
		skip "PostgreSQL's server is not installed"
	fi
	if [ "$(id -u)" = 0 ]; then
		needs setpriv
		chmod 755 .
		mkdir data home
		chown nobody data home
		# The server refuses root, and another user can map the guard's memory only if heapquake is its own.
		user=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME="$PWD/home")
		"${user[@]}" test -r "$HQ" -a -r "$PWD" || skip "another user may not read $HQ"
	fi
	"${user[@]}" "$pg/initdb" -D "$data" -A trust -N -U postgres >init.log 2>&1 || {
		tail -n 3 init.log
		skip "initdb does not run here"
	}
	postgres_session
	export PGUSER=postgres
	for allocator in ${POSTGRES_ALLOCATORS:-${ALLOCATORS%% *}}; do
		expect 0 "${user[@]}" "$HQ" run --results=none -q --allocator="$allocator" --guard --timeout=120s \
			--check 'guard.calls >= 10k' -- bash session.sh "$pg" "$data" 50
	done
}

test_guard_is_silent_with_python_threads_and_forks() {
	needs python3
	cat >work.py <<-'P'
		import os, threading
		def work():
		    kept = {}
		    for i in range(5000):
		        kept[i % 500] = bytes(600 + i % 5000)
		threads = [threading.Thread(target=work) for _ in range(4)]
		[t.start() for t in threads]
		for _ in range(5):
		    pid = os.fork()
		    if pid == 0:
		        work()
		        os._exit(0)
		    os.waitpid(pid, 0)
		[t.join() for t in threads]
	P
	on_all 80k python3 work.py
}

test_guard_is_silent_with_git() {
	needs git
	git init -q repo
	for i in 1 2 3 4 5; do
		seq $((i * 1000)) >"repo/$i"
		git -C repo add .
		git -C repo -c user.name=a -c user.email=a@b commit -qm "$i"
	done
	on_all 700 git -C repo log -p --stat
	on_all 2500 git -C repo gc -q
}

test_guard_is_silent_with_a_compiler() {
	needs gcc
	for i in $(seq 50); do
		echo "int f$i(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * $i ^ a; return s; }"
	done >many.c
	on_all 250k gcc -O2 -c -o many.o many.c
}

test_guard_is_silent_with_a_shell_that_forks() {
	on_all 12k bash -c 'for i in $(seq 30); do x=$(echo "$i" | cat); (exit 0); done; ls /etc | sort | wc -l'
}

test_guard_is_silent_with_redis() {
	needs redis-server
	needs redis-benchmark
	for allocator in $ALLOCATORS; do
		expect 0 "$HQ" run --results=none -q --allocator="$allocator" --guard --no-faults \
			"$TOP/scenarios/programs/redis.yaml"
	done
}

test_guard_is_silent_with_a_database() {
	needs db_bench
	for allocator in $ALLOCATORS; do
		guarded 150k "$allocator" full db_bench --db="$PWD/db" --num=5000 --benchmarks=fillrandom,readrandom --threads=2
	done
}

test_guard_is_silent_under_an_address_limit() {
	guarded 70k glibc full bash -c "ulimit -v 200000 && '$BUILD/targets/honest'"
}

test_guard_finds_what_an_allocator_does_wrong() {
	local bug
	for bug in overlap:overlap misaligned:alignment dirty:calloc-zero prefix:realloc errno:errno null:null-errno; do
		BROKEN=${bug%:*} expect 1 "$HQ" run --results=none -q --guard \
			--allocator="$BUILD/targets/lib_broken_allocator" -- "$BUILD/targets/honest"
		says err "^  ${bug#*:}: "
		says err "called from honest\+0x"
	done
}

# Some bugs may crash the program before they are seen, if threads run in an unlucky order.
finds_planted() {
	local attempt
	for attempt in 1 2 3; do
		FAULTY=$1 expect 1 "$HQ" run --results=none -q --guard --timeout=60s \
			--allocator="$BUILD/libfaulty.so" -- "$BUILD/targets/heaps" mix
		grep -qE "^  $2: " err && grep -qE "called from heaps\+0x" err && return
	done
	cat err
	fail "$1 was not seen by $2 in $attempt runs"
}

# The planted bugs that a guard can see at all: not what is in a block, nor what only time or memory shows.
test_guard_finds_the_planted_bugs() {
	local bug quick="same-twice:overlap misaligned:alignment calloc-dirty:calloc-zero realloc-tail:realloc usable-small:usable-size errno-free:errno"
	local more="overlap-half:overlap same-twice-cross:overlap off-front:overlap off-end:overlap run-short:overlap
		run-free-extra:overlap realloc-class:overlap cross-double:overlap misaligned-class:alignment
		misaligned-page:alignment misaligned-large:alignment misaligned-realloc:alignment
		calloc-dirty-tail:calloc-zero calloc-dirty-cross:calloc-zero realloc-shrink:realloc"
	[ -n "${EVERYTHING:-}" ] || more=
	guarded 120k "$BUILD/libfaulty.so" full "$BUILD/targets/heaps" mix
	for bug in $quick $more; do
		finds_planted "${bug%:*}" "${bug#*:}"
	done
	# One block in sixteen is enough for a bug that strikes often.
	FAULTY=calloc-dirty expect 1 "$HQ" run --results=none -q --guard=1/16 --timeout=60s \
		--allocator="$BUILD/libfaulty.so" -- "$BUILD/targets/heaps" mix
	says err "^  calloc-zero: "
}

test_guard_says_whose_block_it_was() {
	BROKEN=overlap expect 1 "$HQ" run --results=none -q --guard \
		--allocator="$BUILD/targets/lib_broken_allocator" -- "$BUILD/targets/honest"
	says err "shared with block 0x[0-9a-f]+ of [0-9]+ bytes, allocated by thread [0-9]+ in honest\+0x"
	expect 1 "$HQ" run --results=none -q --guard -- "$BUILD/targets/honest" twice
	says err "of 100 bytes, allocated by thread [0-9]+ in honest\+0x.*, freed by thread [0-9]+ in honest\+0x"
	says err "called through .*libc.so.6\+0x"
}

test_guard_tells_the_programs_faults_apart() {
	local fault
	for fault in twice:full:program-free stray:full:program-free behind:canary:program-tail; do
		IFS=: read -r what guard checker <<<"$fault"
		for allocator in $ALLOCATORS; do
			expect 1 "$HQ" run --results=none -q --allocator="$allocator" "--guard=$guard" -- "$BUILD/targets/honest" "$what"
			says err "^  $checker: "
			[ "$(grep -cE "^  [a-z-]+: " err)" -le 4 ] || {
				cat err
				fail "more than the program's fault was found"
			}
		done
	done
}

test_guard_with_faults_in_the_kernel_finds_nothing_wrong() {
	expect 0 "$HQ" run --results=none -q --allocator=glibc --guard \
		--inject 'mmap:error=ENOMEM:probability=0.2' -- "$BUILD/targets/honest"
}

test_guard_refuses_what_it_cannot_watch() {
	expect 3 "$HQ" run --results=none -q --guard -- "$BUILD/targets/static_madvise"
	says err "the guard cannot watch"
	expect 2 "$HQ" run --guard=1/0 -- true
	says err "none of full, canary and 1/N"
}
