//! NFS in the guest, on the same load as oxfs: what its client costs is counted beside it.
//!
//! `--only oxfs-nfs` starts nfs-ganesha, a server in user space as that of oxfs is, in one namespace
//! and mounts it in the other by the client of the kernel's own package. The battery then counts, as
//! its case `counts` does for oxfs, which runs in the same boot.

use std::path::PathBuf;

use super::guest::{HOSTS, Trial};
use super::oxfs::{BATTERY, NFS, PREPARE, battery};
use crate::installed;
use crate::steps::Steps;

const SERVER: &str = "/usr/bin/ganesha.nfsd";
const PACKAGES: &str = "--no-install-recommends nfs-ganesha nfs-ganesha-vfs";
/// Version 4.2 is left out, because a read by it was EIO for the client; the answers to READ_PLUS
/// may be why.
pub const MOUNT: &str = "mount -i -t nfs4 -o \
    vers=4.1,proto=tcp,sec=sys,addr=10.77.0.1,rsize=1048576,wsize=1048576";
/// What the server looks for by name, so that nothing tells that it needs them.
const LOADED: [&str; 3] = [
    "/etc/netconfig",
    "/usr/lib/x86_64-linux-gnu/ganesha/libfsalvfs.so",
    "/lib/x86_64-linux-gnu/libgcc_s.so.1",
];
/// Modules of the kernel, each after those that it needs. Not all kernels have all of them.
pub const MODULES: [&str; 10] = [
    "kernel/net/dns_resolver/dns_resolver",
    "kernel/fs/netfs/netfs",
    "kernel/fs/fscache/fscache",
    "kernel/fs/nfs_common/grace",
    "kernel/net/sunrpc/sunrpc",
    "kernel/fs/lockd/lockd",
    "kernel/fs/nfs_common/nfs_acl",
    "kernel/fs/nfs_common/nfs_localio",
    "kernel/fs/nfs/nfs",
    "kernel/fs/nfs/nfsv4",
];

/// Loads the client and defines `serve`, which starts the server on host a: without a mapper of
/// names, a port mapper and version 3 of the protocol.
const SETUP: &str = r#"
export PATH=/bin:/usr/bin:/usr/sbin
mkdir -p /srv/nfs /mnt/nfs /etc /var/lib/nfs/ganesha /var/run/ganesha
chmod 777 /srv/nfs
ln -sf /proc/mounts /etc/mtab
echo 'root:x:0:0::/:/bin/sh' > /etc/passwd
echo 'root:x:0:' > /etc/group
cat > /tmp/ganesha.conf <<'E2'
NFS_CORE_PARAM {
	Protocols = 4;
	Enable_NLM = false;
	Enable_RQUOTA = false;
}
NFSv4 {
	Only_Numeric_Owners = true;
	UseGetpwnam = true;
	Graceless = true;
	Delegations = false;
}
NFS_KRB5 { Active_krb5 = false; }
EXPORT {
	Export_Id = 1;
	Path = /srv/nfs;
	Pseudo = /nfs;
	Access_Type = RW;
	Squash = No_Root_Squash;
	SecType = sys;
	FSAL { Name = VFS; }
}
LOG { Default_Log_Level = EVENT; }
E2
for module in {MODULES}; do
	[ ! -e /stock/$module.ko ] || insmod /stock/$module.ko || echo "no module $module"
done
serve() {
	into a ganesha.nfsd -F -L /tmp/ganesha.log -f /tmp/ganesha.conf -p /tmp/ganesha.pid &
	server=$!
	for second in $(seq 60); do
		grep -qs 'NFS SERVER INITIALIZED' /tmp/ganesha.log && break
		sleep 1
	done
}
"#;

const SCRIPT: &str = r#"
into b {BATTERY} counts
status=$?
serve
if into b {MOUNT},clientaddr=10.77.0.2 10.77.0.1:/nfs /mnt/nfs
then
	into b {BATTERY} count /mnt/nfs $server || status=1
	into b umount /mnt/nfs || { echo "FAIL oxfs-nfs/umount: status $?"; status=1; }
else
	echo "FAIL oxfs-nfs/mount: status $?"
	tail -n 40 /tmp/ganesha.log
	status=1
fi
kill -9 $server
exit $status
"#;

/// Whether words choose it.
pub fn is_chosen(only: &[String]) -> bool {
    only.iter().any(|word| word == NFS)
}

/// Fetches the server; whether it is there.
pub fn fetch(steps: &mut Steps) -> bool {
    installed::fetch(steps, "ganesha.nfsd", PACKAGES)
}

/// The trial, if words choose it.
pub fn trial(only: &[String]) -> Option<Trial> {
    if !is_chosen(only) {
        return None;
    }
    let script = SCRIPT
        .replace("{MOUNT}", MOUNT)
        .replace("{BATTERY}", BATTERY);
    Some(Trial {
        name: NFS,
        script: format!("{HOSTS}{PREPARE}{}{script}", setup()),
        programs: [battery()].into_iter().chain(server()).collect(),
        modules: MODULES.to_vec(),
    })
}

/// The beginning of a script that uses it.
pub fn setup() -> String {
    let names = MODULES.map(|place| place.rsplit('/').next().unwrap_or(place));
    SETUP.replace("{MODULES}", &names.join(" "))
}

/// The server, and what it loads.
pub fn server() -> impl Iterator<Item = (PathBuf, String)> {
    let places = [SERVER].into_iter().chain(LOADED);
    places.map(|place| (PathBuf::from(place), place.to_owned()))
}
