# Programs of others on a mount of oxfs. Each is a line `ok`, `FAIL` or `skip`.
status=0
mkdir -p /srv/export /mnt/load /etc
chmod 777 /srv/export
# Users that pjdfstest becomes.
id=0
for name in root tests pjdfstest nobody; do
	echo "$name:x:$id:$id::/:/bin/sh" >> /etc/passwd
	echo "$name:x:$id:" >> /etc/group
	id=$((id + 1000))
done
# The battery's own key.
printf '6f7866732062617474657279206b6579\n' > /srv/key
chmod 600 /srv/key
into a oxfs-battery fs serve /srv/export --state /srv/state --key-file /srv/key --listen 10.77.0.1:5021 --no-root-squash > /srv/said 2>&1 &
server=$!
sleep 3
try() {
	name=$1
	shift
	program=$(command -v "$1" || true)
	if [ -z "$program" ]; then
		echo "skip oxfs-load/$name: $1 is not in target/kernel/tools"
	elif (cd /mnt/load && timeout 900 "$@" > /tmp/said 2>&1 < /dev/null); then
		echo "ok oxfs-load/$name"
	else
		echo "FAIL oxfs-load/$name: status $?"
		tail -n 25 /tmp/said
		status=1
	fi
}
export PATH=/bin:/usr/bin:/usr/sbin
if into b oxfs-battery mount /mnt/load; then
	try fsx fsx -N 3000 -S 7 /mnt/load/fsx
	try pjdfstest pjdfstest -p /mnt/load
	try fio fio --name=verify --directory=/mnt/load --size=8m --bs=4k-64k --rw=randrw --verify=crc32c --verify_fatal=1
	try fio-direct fio --name=direct --directory=/mnt/load --size=8m --bs=4k-64k --rw=randwrite --direct=1 --verify=crc32c --verify_fatal=1
	try stress-ng stress-ng --class filesystem --seq 1 --timeout 3 --temp-path /mnt/load --verify
	try dbench dbench -t 20 -D /mnt/load -c /usr/share/dbench/client.txt 2
	try bonnie bonnie++ -d /mnt/load -s 64M -r 16M -n 1 -u root
	cd /
	umount /mnt/load || { echo "FAIL oxfs-load/umount: status $?"; status=1; }
else
	echo "FAIL oxfs-load/mount: no mount"
	status=1
fi
kill $server
exit $status
