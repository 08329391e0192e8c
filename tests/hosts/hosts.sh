# Sourced by scripts that need several hosts. Hosts are emulated: each is a set of
# namespaces (network, UTS, IPC, mount) with its own /dev/shm, /etc/hosts and
# /sys. A bridge connects them. The script sets hosts_work (an empty directory
# of its own) first, and calls hosts_down at its end.
# TCP is as on most machines, also if this one has BBR: with that a connection
# stops for up to 200 ms every 10 s, to measure its round trip.
hosts_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export HOSTS_PIDS=$hosts_work/pids

# host_ended PID: end all processes in the network of a host, by its holder
host_ended() {
    local process found=1
    # Not if the holder is gone and its number taken.
    [ "/proc/$1/ns/net" -ef /proc/self/ns/net ] && return
    while [ $found -gt 0 ]; do
        found=0
        for process in /proc/[0-9]*; do
            if [ "$process/ns/net" -ef "/proc/$1/ns/net" ] &&
                [ "${process#/proc/}" != "$1" ]; then
                kill -KILL "${process#/proc/}" 2>/dev/null
                found=1
            fi
        done
    done
    kill -KILL "$1" 2>/dev/null
}

hosts_down() {
    local pid i=0
    if [ -f "$HOSTS_PIDS" ]; then
        while read -r _ pid; do
            i=$((i + 1))
            host_ended "$pid"
            ip link del "$hosts_bridge.$i" 2>/dev/null
        done <"$HOSTS_PIDS"
        rm -f "$HOSTS_PIDS"
    fi
    [ -z "${hosts_bridge:-}" ] || ip link del "$hosts_bridge" 2>/dev/null
}

host_up() { # NUMBER
    local name=node$(($1 - 1)) pid
    unshare -n -u -i -m sh -c "
        hostname $name &&
        mount --make-rprivate / &&
        cp '$hosts_work/hosts' /dev/shm/hosts.$$ &&
        mount --bind /dev/shm/hosts.$$ /etc/hosts && rm /dev/shm/hosts.$$ &&
        mount -t tmpfs none /dev/shm &&
        mount -t sysfs none /sys &&
        echo cubic >/proc/sys/net/ipv4/tcp_congestion_control ||
            echo reno >/proc/sys/net/ipv4/tcp_congestion_control;
        exec sleep ${hosts_seconds:-600}" &
    pid=$!
    disown # no message at its end
    echo "$name $pid" >>"$HOSTS_PIDS"
    for _ in $(seq 100); do
        [ "$(nsenter -t $pid -u hostname 2>/dev/null)" = "$name" ] &&
            nsenter -t $pid -m sh -c "grep -q 10.77.0 /etc/hosts" && break
        sleep 0.02
    done
    ip link add "$hosts_bridge.$1" type veth peer name eth0 netns $pid &&
        ip link set "$hosts_bridge.$1" master "$hosts_bridge" up &&
        nsenter -t $pid -n ip addr add "10.77.0.$1/24" dev eth0 &&
        nsenter -t $pid -n ip link set eth0 up &&
        nsenter -t $pid -n ip link set lo up
}

# hosts_up N: node0 to node(N-1), 10.77.0.1 to 10.77.0.N. Status 2: not permitted
# here; 1: the network could not be created.
hosts_up() {
    local i
    unshare -n -u -i -m true 2>/dev/null || return 2
    hosts_bridge=ctnbr$((RANDOM % 10000))
    ip link add "$hosts_bridge" type bridge &&
        ip link set "$hosts_bridge" up || return 1
    echo '127.0.0.1 localhost' >"$hosts_work/hosts"
    for i in $(seq "$1"); do
        echo "10.77.0.$i node$((i - 1))" >>"$hosts_work/hosts"
    done
    for i in $(seq "$1"); do
        host_up "$i" || return 1
    done
}

# host_pid NUMBER: its holder, from 1
host_pid() {
    awk -v n="$1" 'NR == n { print $2 }' "$HOSTS_PIDS"
}

# on_head COMMAND...: on the first host
on_head() {
    nsenter -t "$(host_pid 1)" -n -u -i -m -- "$@"
}
