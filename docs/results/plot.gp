# Pictures from the tables: gnuplot plot.gp
set datafile separator ","
set terminal svg size 760,460 font "sans,12" background "white"
set key top right
set grid ytics lc rgb "#dddddd"
set logscale x 2
set xlabel "bytes per block"

at(m, l, a) = sprintf("< awk -F, '$1==\"%s\" && $2==%d && $3==\"%s\" {print $6 \",\" $7}' alltoall.csv", m, l, a)
# two algorithms side by side: size, time of the first, time of the second
pair(m, l, a, b) = sprintf("< awk -F, '$1==\"%s\" && $2==%d {t[$3,$6]=$7} $1==\"%s\" && $2==%d && $3==\"%s\" {n[++k]=$6} END {for (i=1;i<=k;i++) if ((\"%s\",n[i]) in t) print n[i] \",\" t[\"%s\",n[i]] \",\" t[\"%s\",n[i]]}' alltoall.csv", m, l, m, l, b, a, a, b)

do for [m in "hpc-a hpc-b"] {
    set output m . "-ratios.svg"
    set ylabel "times as fast"
    set yrange [0:3.5]
    set title m . ", simulated: each method against the one before"
    plot 1 notitle lc rgb "#999999", \
        pair(m, 2, "l-a2a", "mpml") using 1:($2/$3) with linespoints title "MPML/2 : L-a2a", \
        pair(m, 4, "l-a2a", "mpml") using 1:($2/$3) with linespoints title "MPML/4 : L-a2a", \
        pair(m, 2, "mpml", "nmpml") using 1:($2/$3) with linespoints title "NMPML/2 : MPML/2", \
        pair(m, 4, "mpml", "nmpml") using 1:($2/$3) with linespoints title "NMPML/4 : MPML/4", \
        pair(m, 2, "nmpml", "onmpml") using 1:($2/$3) with linespoints title "ONMPML/2 : NMPML/2", \
        pair(m, 4, "nmpml", "onmpml") using 1:($2/$3) with linespoints title "ONMPML/4 : NMPML/4"
}

set logscale y
set yrange [*:*]
set key top left
set ylabel "microseconds"
set output "hpc-b-times.svg"
set title "hpc-b, 50 nodes of 24 ranks, simulated, 4 leaders"
plot for [a in "direct l-a2a mpml nmpml onmpml"] at("hpc-b", 4, a) using 1:2 with linespoints title a
set output "hpc-a-times.svg"
set title "hpc-a, 256 nodes of 32 ranks, simulated, 4 leaders"
plot for [a in "direct l-a2a mpml nmpml onmpml"] at("hpc-a", 4, a) using 1:2 with linespoints title a

unset logscale
set logscale x 2
set output "endpoints.svg"
set title "node to node, simulated: throughput against ranks that send"
set xlabel "ranks that send"
set ylabel "MB/s"
set yrange [0:*]
set key top left
ends(m, b) = sprintf("< awk -F, '$1==\"%s\" && $3==%d {print $2 \",\" $5}' endpoints.csv", m, b)
plot for [m in "hpc-a hpc-b"] for [b in "1024 8192 65536"] ends(m, b + 0) using 1:2 with linespoints title m . ", " . b . " B"

set output "gather.svg"
set title "gathering on a node, 4 KiB blocks, simulated"
set xlabel "leaders"
g(m, p) = sprintf("< awk -F, '$1==\"%s\" && $2==\"%s\" && $4==4096 {print $3 \",\" $5}' gather.csv", m, p)
plot for [m in "hpc-a hpc-b"] for [p in "packed spread"] g(m, p) using 1:2 with linespoints title m . ", " . p

set output "measured.svg"
set title "this machine: simulated against measured"
set logscale xy 10
set xlabel "measured, microseconds"
set ylabel "simulated, microseconds"
set yrange [*:*]
set key top left
plot x title "equal" lc rgb "#999999", 2*x title "twice, half" lc rgb "#cccccc", x/2 notitle lc rgb "#cccccc", \
    "< grep ^barrier measured.csv" using 6:7 title "barrier", \
    "< grep alltoall,direct measured.csv" using 6:7 title "alltoall direct", \
    "< grep alltoall,onmpml measured.csv" using 6:7 title "alltoall onmpml"

unset logscale
set logscale x 2
set output "here-gather.svg"
set title "gathering on this machine: 8 ranks on 2 cores"
set xlabel "bytes per block"
set ylabel "MB/s"
set yrange [0:*]
set key outside right
here(l, p) = sprintf("< awk -F, '$4==%d && $5==\"%s\" {print $3 \",\" $7}' here-gather.csv", l, p)
plot here(1, "any") using 1:2 with linespoints title "1 leader", \
    for [l in "2 4"] here(l + 0, "packed") using 1:2 with linespoints title l . ", packed", \
    for [l in "2 4"] here(l + 0, "spread") using 1:2 with linespoints title l . ", spread", \
    here(8, "any") using 1:2 with linespoints title "8 leaders"

set output "here-endpoints.svg"
set title "node to node over TCP on this machine: endpoints in use"
set logscale y 10
set yrange [*:*]
many(e) = sprintf("< awk -F, '$4==%d {print $3 \",\" $5}' here-endpoints.csv", e)
plot for [e in "1 2 4"] many(e + 0) using 1:2 with linespoints title e

# Splits without the barrier; many groups are as many as ranks, few are 8.
set logscale x 4
set logscale y 10
set xlabel "processes"
set ylabel "microseconds"
set key outside right
splits(f, m, a, c, g) = sprintf("< awk -F, '$1==\"%s\" && $2==\"%s\" && $4==\"%s\" && %s {print $5 \",\" $11}' split-%s.csv", m, a, c, g, f)
groups(many) = many ? "$3==$5" : "$3==8"
do for [m in "dawn sierra"] {
    set output "split-reorder-" . m . ".svg"
    set title m . ", simulated: reorder without split, integer keys"
    plot for [a in "allgather allgather-fast gather-scatter cheng:128 cheng:512 cheng:2048 cheng:8192 bitonic radix radix-plain"] \
        splits("reorder", m, a, "none", "1") using 1:2 with linespoints title a
    do for [f in "colors both"] {
        do for [many = 0:1] {
            set output "split-" . f . "-" . (many ? "many" : "few") . "-" . m . ".svg"
            set title m . ", simulated: split " . (f eq "colors" ? "without" : "with") . " reorder, " . (many ? "a group for each process" : "8 groups")
            plot for [l in "5 80"] for [a in "bitonic hash hash64"] \
                splits(f, m, a, "string:" . l, groups(many)) using 1:2 with linespoints title a . ", " . l . " B"
        }
    }
}

# Barriers by levels; what the paper says in words, since its pictures have no
# numbers: figure, ranks, shared, messages.
$paper << EOD
4,2,0.30,1.46
4,12,1.57,8.18
5,2,0.42,1.89
5,16,2.14,11.89
EOD
unset logscale
set logscale y 10
set yrange [0.05:20]
set xlabel "ranks"
set key outside right
levels(f, w) = sprintf("< awk -F, '$1==%d && $4==\"%s\" {print $6 \",\" $7}' hier-simulated.csv", f, w)
kinds = "shared messages steps stack" # as in reproduce
name(i) = i < 3 ? word(kinds, i) : "paper's o, " . word(kinds, i)
do for [f in "4 5"] {
    m = f eq "4" ? "jaguar" : "smoky"
    set output "hier-" . m . ".svg"
    set title "barrier on a node of " . m . ", simulated, and the paper's"
    set xrange [1:(f eq "4" ? 13 : 17)]
    plot for [i = 1:4] levels(f + 0, word(kinds, i)) using 1:2 with linespoints lc i title name(i), \
        for [i = 1:4] levels(f + 0, word(kinds, i) . "-flat") using 1:2 with linespoints lc i dt 2 title name(i) . ", flat", \
        $paper using 2:($1==(f + 0) ? $3 : 1/0) with points pt 5 ps 1.5 lc 3 title "paper, shared", \
        $paper using 2:($1==(f + 0) ? $4 : 1/0) with points pt 5 ps 1.5 lc 4 title "paper, messages"
}

# Figures 6 and 7: what they say; the paper's 0.90 for one socket in figure 7
# is at odds with figure 6 and with its own 68%.
$sockets << EOD
2 on 1,0 1,6,0.42
2 on 2,0 4,6,0.51
4 on 1,0 1 2 3,6,0.79
4 on 2,0 1 4 5,6,0.90
4 on 4,0 4 8 12,7,1.33
EOD
unset logscale
set xrange [*:*]
set yrange [0:*]
set output "hier-sockets.svg"
set title "barrier on smoky, simulated, and the paper's"
set xlabel "ranks on sockets"
set style data histograms
set style fill solid 0.7
ways(w) = "< awk -F, '$4==\"" . w . "\" && ($1==6 || ($1==7 && $3==\"0 4 8 12\")) {print $7}' hier-simulated.csv"
plot $sockets using 4:xticlabel(1) title "paper", \
    ways("steps-flat") using 1 title "paper's o, steps, flat", \
    ways("shared") using 1 title "shared", \
    ways("shared-flat") using 1 title "shared, flat"
set style data points

set logscale xy
set logscale x 2
set logscale y 10
set yrange [0.05:500]
set xlabel "ranks on 2 cores"
set output "hier-here.svg"
set title "barrier on this machine"
way(w) = sprintf("< awk -F, '$1==\"%s\" {print $3 \",\" $4}' hier-here.csv", w)
plot way("default") using 1:2 with linespoints title "default", \
    way("shared-flat") using 1:2 with linespoints title "shared, flat", \
    way("shared") using 1:2 with linespoints title "shared, two levels", \
    way("messages-flat") using 1:2 with linespoints title "messages, flat", \
    way("messages") using 1:2 with linespoints title "messages, two levels", \
    way("network") using 1:2 with linespoints title "network: UCX over TCP", \
    way("openmpi") using 1:2 with linespoints title "Open MPI", \
    way("default-osu") using 1:2 with linespoints title "default, as Open MPI"
