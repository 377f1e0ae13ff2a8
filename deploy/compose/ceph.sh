#!/bin/bash
# ceph.sh serve|health: a Ceph Object Gateway on one machine, to try the platform with. One monitor, one OSD in a file and
# one radosgw, without keys among themselves and without a manager; the data is in /data. Ends when one of them ends.
# Needs the programs of ceph-mon, ceph-osd and radosgw, and access_key and secret_key in /config/ceph-keys.
set -euo pipefail
umask 077
port=8088
data=/data
conf=$data/ceph.conf

answers() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return
  printf 'GET / HTTP/1.0\r\n\r\n' >&3
  read -r status <&3
  cat <&3 >/dev/null
  [[ $status = *' 200 '* ]]
}

[ "$1" = serve ] || { answers 2>/dev/null; exit; }
[ "$(cat /config/object-store)" = ceph ] || {
  echo "the storage service is not configured for Ceph: start with COMPOSE_PROFILES=ceph instead of --profile ceph" >&2
  exit 1
}

settings() { # FSID
  cat <<END
[global]
fsid = $1
mon_host = [v2:127.0.0.1:3300/0]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
# one machine: no keys between the daemons; crc mode, as the default encrypts with keys
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
keyring = /dev/null
run_dir = /tmp
admin_socket = /tmp/\$name.\$pid.asok
crash_dir = /tmp
log_to_file = false
log_to_stderr = false
err_to_stderr = true
mon_cluster_log_to_file = false
# one disk: one copy of everything, in few placement groups
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
osd_crush_chooseleaf_type = 0
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
mon_max_pg_per_osd = 1000
# by default a monitor stops at 5 % of free disk
mon_data_avail_crit = 1
mon_data_avail_warn = 2
# do not wait to batch changes
paxos_propose_interval = 0.02
paxos_min_wait = 0.01

[mon]
mon_data = $data/mon

[osd]
osd_data = $data/osd
osd_objectstore = bluestore
# a sparse file
bluestore_block_size = 53687091200
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
osd_class_load_list = *
osd_class_default_list = *

[client]
# what was sent before the OSD was up is sent again after this time
objecter_tick_interval = 0.1
rgw_data = /tmp
rgw_frontends = beast endpoint=0.0.0.0:$port
rgw_thread_pool_size = 64
rgw_rados_pool_pg_num_min = 4
rgw_relaxed_region_enforcement = true
rgw_crypt_require_ssl = false
rgw_enable_usage_log = true
# quotas apply at once
rgw_user_quota_bucket_sync_interval = 1
rgw_user_quota_sync_interval = 1
rgw_user_quota_sync_idle_users = true
rgw_run_sync_thread = false
rgw_dynamic_resharding = false
END
}

started=()
launch() {
  "$@" -c "$conf" -f &
  started+=($!)
}

# The gateway first, the monitor last; each writes down what it holds.
stop() {
  trap - TERM INT
  for ((at = ${#started[@]} - 1; at >= 0; at--)); do
    kill -TERM "${started[at]}" 2>/dev/null || true
    wait "${started[at]}" || true
  done
  exit 0
}
trap stop TERM INT

if [ ! -e $data/made ]; then
  # never used: the gateway starts after the file is written
  rm -rf $data/mon $data/osd
  mkdir -p $data/mon $data/osd
  fsid=$(cat /proc/sys/kernel/random/uuid)
  osd=$(cat /proc/sys/kernel/random/uuid)
  settings "$fsid" >$conf
  monmaptool --create --clobber --fsid "$fsid" --addv a '[v2:127.0.0.1:3300/0]' /tmp/monmap
  ceph-mon -c $conf -i a --mkfs --monmap /tmp/monmap
  # --no-mon-config: the monitor is not up yet
  ceph-osd -c $conf -i 0 --no-mon-config --mkfs --osd-uuid "$osd"
  launch ceph-mon -i a
  ceph -c $conf --connect-timeout 60 osd new "$osd" 0
  launch ceph-osd -i 0
  # shellcheck disable=SC1091
  . /config/ceph-keys
  # shellcheck disable=SC2154
  timeout 60 radosgw-admin -c $conf user create --uid=atelier --display-name=Atelier \
    --access-key="$access_key" --secret-key="$secret_key" --caps='users=*;buckets=*' >/dev/null
  touch $data/made
else
  settings "$(sed -n 's/^fsid = //p' $conf)" >$conf.new
  mv $conf.new $conf
  launch ceph-mon -i a
  launch ceph-osd -i 0
fi
launch radosgw -n client.rgw

wait -n || true
# the others end with this process: without the one they do not stop by themselves
echo "a daemon has ended" >&2
exit 1
