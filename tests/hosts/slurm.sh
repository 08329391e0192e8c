# Sourced after hosts.sh: Slurm on the emulated hosts, with all its files in
# $hosts_work/slurm. Each host has a munged, since one would refuse a credential
# that a second slurmd decodes.
slurm=$hosts_work/slurm
export SLURM_CONF=$slurm/slurm.conf
slurm_pids=()

# slurm_missing: print why Slurm cannot be used here
slurm_missing() {
    local program
    for program in munged mungekey slurmctld slurmd slurmstepd srun scontrol; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
            echo "there is no $program"
            return
        }
    done
}

# daemon HOST_NUMBER COMMAND...
daemon() {
    timeout --foreground -k 2 "${hosts_seconds:-600}" \
        nsenter -t "$(host_pid "$1")" -n -u -i -m -- \
        "${@:2}" >>"$slurm/daemons.log" 2>&1 &
    slurm_pids+=($!)
    disown
}

# slurm_configure RANKS...: those that each host takes
slurm_configure() {
    local i=0 cpus
    cat >"$SLURM_CONF" <<END
ClusterName=catena
SlurmctldHost=node0(10.77.0.1)
SlurmUser=root
SlurmctldPort=6817
SlurmdPort=6818
AuthInfo=socket=$slurm/munge/socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/%n
TmpFS=$slurm/%n/tmp
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/%n/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/%n/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
END
    for cpus in "$@"; do
        i=$((i + 1))
        mkdir -p "$slurm/node$((i - 1))/tmp"
        echo "NodeName=node$((i - 1)) NodeAddr=10.77.0.$i CPUs=$cpus" >>"$SLURM_CONF"
    done
    echo "PartitionName=all Nodes=ALL Default=YES" >>"$SLURM_CONF"
    # slurmd loads a plugin, which finds no control groups, and needs none.
    echo "CgroupPlugin=cgroup/v1" >"$slurm/cgroup.conf"
}

slurm_is_idle() {
    sleep 0.2
    [ "$(on_head sinfo -h -N -t idle -o %n 2>/dev/null | wc -l)" = "$1" ]
}

# slurm_up RANKS...: start the daemons and wait until the hosts are idle
slurm_up() {
    local i
    PATH=$PATH:/usr/sbin
    chmod 711 "$hosts_work" # munged wants its socket within reach of everybody
    mkdir -p "$slurm/munge" "$slurm/state"
    mungekey -c -k "$slurm/key"
    slurm_configure "$@"
    for i in $(seq $#); do
        nsenter -t "$(host_pid "$i")" -m mount -t tmpfs -o mode=755 none "$slurm/munge"
        daemon "$i" munged --foreground --key-file "$slurm/key" \
            --socket "$slurm/munge/socket" --pid-file "$slurm/munge/pid" \
            --seed-file "$slurm/munge/seed" --log-file "$slurm/munge/log"
    done
    daemon 1 slurmctld -D
    for i in $(seq $#); do
        daemon "$i" slurmd -D -N "node$((i - 1))"
    done
    poll 90 slurm_is_idle $#
}

slurm_down() {
    local pid
    for pid in "${slurm_pids[@]}"; do
        kill -TERM "$pid" 2>/dev/null
    done
    for pid in "${slurm_pids[@]}"; do
        while kill -0 "$pid" 2>/dev/null; do
            sleep 0.02
        done
    done
}
