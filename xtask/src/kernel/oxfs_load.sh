# Programs of others on a mount of oxfs. Each is a line `ok`, `FAIL` or `skip`.
export PATH=/bin:/usr/bin:/usr/sbin
status=0
mkdir -p /srv/export /mnt/load /etc
chmod 777 /srv/export
# Users that pjdfstest becomes.
id=0
for name in root tests nobody; do
	echo "$name:x:$id:$id::/:/bin/sh" >> /etc/passwd
	echo "$name:x:$id:" >> /etc/group
	id=$((id + 1000))
done
# The battery's own key.
printf '6f7866732062617474657279206b6579\n' > /srv/key
chmod 600 /srv/key

# Its process stands outside of the mount, whoever starts it.
serve() {
	rm -f /srv/said
	(cd / && exec into a oxfs-battery fs serve /srv/export --state /srv/state \
		--key-file /srv/key --listen 10.77.0.1:5021 --no-root-squash) > /srv/said 2>&1 &
	echo $! > /run/server
	for second in 1 2 3 4 5 6 7 8 9 10; do
		grep -q '^serving ' /srv/said && return
		sleep 1
	done
	echo "the server did not start: $(cat /srv/said)"
}

# Kills a process and those that it has started; none of them starts another meanwhile.
end_tree() {
	kill -STOP $1
	for child in $(pgrep -P $1); do
		end_tree $child
	done
	kill -9 $1
}

# A program, or a function of this script, that is killed if it takes too long.
limited() {
	"$@" &
	job=$!
	(cd /; sleep {SECONDS}; end_tree $job) > /dev/null 2>&1 &
	watch=$!
	wait $job
	result=$?
	kill $watch
	return $result
}

# try NAME NEEDED COMMAND ARGUMENT...: a command that stands in the mount and needs a program.
try() {
	name=$1 needed=$2
	shift 2
	if ! command -v "$needed" > /dev/null; then
		echo "skip oxfs-load/$name: $needed could not be put into the guest"
	elif (cd /mnt/load && limited "$@" > /tmp/said 2>&1 < /dev/null); then
		echo "ok oxfs-load/$name"
	else
		echo "FAIL oxfs-load/$name: status $?"
		grep -A 2 -e FAILED -e 'fail:' /tmp/said | head -n 80
		tail -n 20 /tmp/said
		status=1
	fi
	rm -rf /mnt/load/*
}

# A tree of sources is unpacked, each file is made into another, and those into one; a second run
# finds by their times that nothing is to be done.
build() {
	rm -rf /tmp/tree && mkdir -p /tmp/tree
	for folder in 1 2 3 4 5 6; do
		mkdir -p /tmp/tree/d$folder/include
		for file in 1 2 3 4 5 6 7 8 9 10; do
			seq $folder $((file * 300)) > /tmp/tree/d$folder/f$file.c
			ln -s ../f$file.c /tmp/tree/d$folder/include/f$file.h
		done
	done
	tar -cf /tmp/tree.tar -C /tmp tree
	for round in 1 2; do
		tar -xf /tmp/tree.tar || return 1
		for source in $(find tree -name '*.c'); do
			(gzip -c < $source > $source.o.new && mv $source.o.new $source.o) || return 2
		done
		cat $(find tree -name '*.o' | sort) > program || return 3
		for source in $(find tree -name '*.c'); do
			[ $source.o -ot $source ] && return 4
			gzip -dc < $source.o | cmp - $source || return 5
			cmp $source /tmp/$source || return 6
		done
		[ $(find tree -type l | wc -l) = 60 ] || return 7
		[ $(gzip -dc < program | wc -c) = $(cat $(find tree -name '*.c') | wc -c) ] || return 8
		rm -r tree program || return 9
	done
}

# Everything of the class but what uses no file of the mount, one after the other, with files that an
# emulated processor can write. Status 3 and 4 are for what this machine has not.
stressed() {
	result=0
	for one in $(stress-ng --class 'filesystem?' 2>&1 | sed 's/.*: //'); do
		case $one in bind-mount | binderfs | eventfd | procfs) continue ;; esac
		timeout -s KILL 300 stress-ng --$one 1 --timeout 1 --temp-path /mnt/load --verify \
			--hdd-bytes 4M --iomix-bytes 4M --fallocate-bytes 4M --fiemap-bytes 4M \
			--sync-file-bytes 4M --dirdeep-inodes 500 --dentries 200
		case $? in
		0 | 3 | 4) ;;
		*)
			echo "fail: $one"
			result=1
			;;
		esac
	done
	return $result
}

# In a folder of its own: below a path of 9 characters, as that of the mount is, pjdfstest calculates
# the length of the longest path as less than nothing.
posix() {
	mkdir /mnt/load/posix && chmod 777 /mnt/load/posix || return 1
	pjdfstest -c /tmp/pjdfstest.toml -p /mnt/load/posix
}

# A server that is killed by kill -9 every two seconds, while fio writes and verifies.
killed() {
	fio --name=killed --directory=/mnt/load --size=6m --bs=4k-64k --rw=randrw --fsync=16 \
		--verify=crc32c --verify_fatal=1 > /tmp/fio 2>&1 &
	load=$!
	for kill in 1 2 3 4 5; do
		sleep 2
		kill -9 $(cat /run/server)
		serve
		kill -0 $load 2>/dev/null || break
	done
	wait $load && return
	cat /tmp/fio
	return 1
}

# Pages of the mount may take 24 MiB, and 64 are written and verified.
pressed() {
	mkdir -p /sys/fs/cgroup
	grep -q ' /sys/fs/cgroup ' /proc/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup || return 1
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control || return 2
	mkdir -p /sys/fs/cgroup/pressed
	echo $((24 << 20)) > /sys/fs/cgroup/pressed/memory.max || return 3
	sh -c 'echo $$ > /sys/fs/cgroup/pressed/cgroup.procs && exec fio --name=pressed --thread \
		--directory=/mnt/load --size=64m --bs=64k --rw=write --verify=crc32c \
		--verify_fatal=1'
}

# Two clients in one folder: each writes and verifies a file, and makes, moves and removes others, at
# the same time as the other, and then verifies what the other has written.
two() {
	mkdir -p /mnt/other
	into b oxfs-battery mount /mnt/other || return 1
	(client load) &
	one=$!
	(client other) &
	other=$!
	wait $one && wait $other && verify load other && verify other load
	result=$?
	umount /mnt/other || return 2
	return $result
}

# What one of them does.
client() {
	cd /mnt/$1 || return 1
	fio --name=$1 --filename=/mnt/$1/file-$1 --size=4m --bs=4k-64k --rw=randwrite \
		--verify=crc32c --verify_fatal=1 > /tmp/fio-$1 2>&1 || { cat /tmp/fio-$1; return 2; }
	for file in $(seq 40); do
		echo $1 $file > $1.$file.new && mv $1.$file.new $1.$file || return 3
	done
	for file in $(seq 40); do
		[ "$(cat $1.$file)" = "$1 $file" ] || return 4
		rm $1.$file || return 5
	done
}

# verify MOUNT WRITER: on a mount, what another client has written.
verify() {
	fio --name=$2 --filename=/mnt/$1/file-$2 --size=4m --bs=4k-64k --rw=randwrite \
		--verify=crc32c --verify_fatal=1 --verify_only
}

# Whatever keeps the mount is named: processes that stand in it, have it as their root or something
# of it open, mounts on top of it, and block devices that are files of it. A process that was killed a moment ago may still be
# ending.
leave() {
	for second in 1 2 3 4 5 6 7 8 9 10; do
		umount /mnt/load 2> /dev/null && return
		sleep 1
	done
	echo "FAIL oxfs-load/umount: the mount is busy"
	for process in /proc/[0-9]*; do
		if ls -l $process/cwd $process/root $process/exe $process/fd 2> /dev/null | grep -q ' /mnt/load' ||
			grep -qs ' /mnt/load' $process/maps
		then
			echo "$process $(cat $process/comm) $(grep State: $process/status)"
		fi
	done
	grep ' /mnt/load/' /proc/mounts
	grep -s /mnt/load/ /sys/block/*/loop/backing_file
	return 1
}

FIO='--directory=/mnt/load --size=8m --bs=4k-64k --verify=crc32c --verify_fatal=1'
cat > /tmp/pjdfstest.toml <<'E2'
{PJDFSTEST}
E2
serve
if into b oxfs-battery mount /mnt/load; then
	for load in {LOADS}; do
		case $load in
		fsx) try $load fsx fsx -N 3000 -S 7 /mnt/load/fsx ;;
		pjdfstest) try $load pjdfstest posix ;;
		fio) try $load fio fio --name=cached --rw=randrw $FIO ;;
		fio-direct) try $load fio fio --name=direct --rw=randwrite --direct=1 $FIO ;;
		fio-mapped) try $load fio fio --name=mapped --rw=randrw --ioengine=mmap $FIO ;;
		stress-ng) try $load stress-ng stressed ;;
		dbench) try $load dbench dbench -t 20 -D /mnt/load -c /usr/share/dbench/client.txt 2 ;;
		bonnie) try $load bonnie++ bonnie++ -d /mnt/load -s 32M -r 16M -n 1 -u root ;;
		build) try $load tar build ;;
		pressed) try $load fio pressed ;;
		two) try $load fio two ;;
		killed) try $load fio killed ;;
		*) echo "FAIL oxfs-load/$load: there is no such load"; status=1 ;;
		esac
	done
	cd /
	leave || status=1
else
	echo "FAIL oxfs-load/mount: no mount"
	status=1
fi
kill $(cat /run/server)
exit $status
