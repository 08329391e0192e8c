# Pictures from the tables, by: docs/results/reproduce --pictures
# Each names its table; the first lines of that say how it was made.

# ---- one style ----
set datafile separator ","
set terminal svg noenhanced size 860,480 font "sans,12" background "white"
set key outside right top
set grid lc rgb "#dddddd"
set border 3
set tics nomirror
set style data linespoints
do for [i = 1:8] {
    set linetype i lw 1.6 pt (i < 4 ? 2*i + 3 : i + 8) ps 0.5 \
        lc rgb word("#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #666666 #000000", i)
}
set linetype cycle 8
sizes = 'unset logscale; set logscale x 2; set xtics ("1 B" 1, "16 B" 16, "256 B" 256, "4 KiB" 4096, "64 KiB" 65536, "1 MiB" 1048576); set xlabel "bytes per block"'
ranks = 'unset logscale; set format x "%.0f"; set xtics auto; set logscale y 10'
set yrange [*:*]

dash(yes) = yes ? 2 : 1
# rows(table, condition, columns): what awk takes of a table
rows(table, condition, columns) = sprintf("< awk -F, '%s {print %s}' OFS=, %s.csv", condition, columns, table)

# ---- Peng, Liu, Xie ----
@sizes
at(m, l, a) = rows("alltoall", sprintf("$1==\"%s\" && $2==%d && $3==\"%s\"", m, l, a), "$6, $7")
pair(m, l, a, b) = sprintf("< awk -F, '$1==\"%s\" && $2==%d {if ($3==\"%s\") t[$6]=$7; if ($3==\"%s\") {n[++k]=$6; u[$6]=$7}} END {for (i=1;i<=k;i++) if (n[i] in t) print n[i] \",\" t[n[i]]/u[n[i]]}' alltoall.csv", m, l, a, b)
methods = "direct l-a2a mpml nmpml onmpml"
titles = "'direct: every pair' 'L-a2a: one leader' 'MPML: several leaders' 'NMPML: on several domains' 'ONMPML: and overlapped'"
layout(m) = m eq "hpc-b" ? "50 nodes of 24 ranks" : "256 nodes of 32 ranks"
do for [m in "hpc-a hpc-b"] {
    set output m . "-ratios.svg"
    set title "alltoall on " . m . ", " . layout(m) . ", simulated:\neach method beside the one before it"
    set ylabel "times as fast"
    set yrange [0:3]
    plot 1 notitle with lines lc rgb "#999999", \
        for [i = 2:4] for [l in "2 4"] pair(m, l + 0, word(methods, i), word(methods, i + 1)) \
            using 1:2 lt i dt dash(l eq "2") \
            title word("MPML:L-a2a NMPML:MPML ONMPML:NMPML", i - 1) . ", " . l . " leaders"
    set output m . "-times.svg"
    set title "alltoall on " . m . ", " . layout(m) . ", 4 leaders, simulated"
    set ylabel "microseconds"
    set yrange [*:*]
    set logscale y 10
    plot for [i = 1 + (m eq "hpc-a"):5] at(m, 4, word(methods, i)) using 1:2 title word(titles, i)
    unset logscale y
}

@ranks
unset logscale
set logscale x 2
set output "endpoints.svg"
set title "from node to node of hpc-b, simulated: 64 KiB, by the ranks that send"
set xlabel "ranks that send"
set ylabel "MB/s"
set yrange [0:*]
plot for [s in "0.25 0.5 1"] for [p in "1 2 4"] \
    rows("endpoints", sprintf("$1==\"hpc-b\" && $2==\"%s\" && $3==%s && $5==65536", s, p), \
         "$4, $7") using 1:2 title p . (p eq "1" ? " port" : " ports") . " of " . s . " of the node"
set output "gather.svg"
set title "gathering blocks of 4 KiB on a node, simulated: all ranks of the node"
set xlabel "leaders"
plot for [m in "hpc-a hpc-b"] for [p in "packed spread"] \
    rows("gather", sprintf("$1==\"%s\" && $2==\"%s\" && $4==4096", m, p), "$3, $5") using 1:2 \
    dt dash(m eq "hpc-a") title m . (p eq "packed" ? ", in one domain" : ", over domains")

@sizes
set output "here-gather.svg"
set title "gathering on this machine: 8 ranks on 2 cores, by leaders"
set ylabel "MB/s"
set yrange [0:*]
here(l, p) = rows("here-gather", sprintf("$4==%d && $5==\"%s\"", l, p), "$3, $7")
plot here(1, "any") using 1:2 title "1 leader", \
    for [l in "2 4"] here(l + 0, "packed") using 1:2 title l . ", adjacent ranks", \
    for [l in "2 4"] here(l + 0, "spread") using 1:2 title l . ", spread", \
    here(8, "any") using 1:2 title "8 leaders"
set output "here-endpoints.svg"
set title "node to node over TCP on this machine: 2 virtual nodes of 4 ranks"
set logscale y 10
set yrange [*:*]
plot for [e in "1 2 4"] rows("here-endpoints", "$4==" . e, "$3, $5") using 1:2 \
    title e . (e eq "1" ? " endpoint in use" : " endpoints in use")

# ---- simulated and measured ----
unset logscale
set logscale xy 10
set format x "%g"
set xtics auto
set output "accuracy.svg"
set title "this machine, 2 cores: 2 to 16 ranks on 1, 2 and 4 virtual nodes"
set xlabel "measured, microseconds"
set ylabel "simulated, microseconds"
plot x with lines title "equal" lc rgb "#666666", \
    1.15*x with lines title "15% more or less" lc rgb "#bbbbbb", x/1.15 with lines notitle lc rgb "#bbbbbb", \
    for [c in "barrier allreduce alltoall"] rows("accuracy", "$1==\"" . c . "\"", "$5, $6") \
        using 1:2 with points ps 0.8 title c

# ---- Moody, Ahn, de Supinski ----
unset logscale
set logscale x 4
set logscale y 10
set format x "%.0f"
set xlabel "processes"
set ylabel "microseconds"
splits(f, m, a, c, g) = rows("split-" . f, sprintf("$1==\"%s\" && $2==\"%s\" && $4==\"%s\" && %s", m, a, c, g), "$5, $13")
kinds = "allgather allgather-fast gather-scatter cheng:128 cheng:1024 cheng:8192 bitonic radix radix-plain"
do for [m in "dawn sierra"] {
    set output "split-reorder-" . m . ".svg"
    set title "reordering all processes by integer keys, no split, on " . m . ", simulated"
    plot for [a in kinds] splits("reorder", m, a, "none", "1") using 1:2 \
        title (a[1:5] eq "cheng" ? "cheng, M = " . a[7:*] : a)
    do for [f in "colors both"] {
        do for [many = 0:1] {
            set output "split-" . f . "-" . (many ? "many" : "few") . "-" . m . ".svg"
            set title "split " . (f eq "colors" ? "without" : "with") . " reordering, " . \
                (many ? "a group for each process" : "8 groups") . ", on " . m . ", simulated"
            i = 0
            plot for [l in "5 80"] for [a in "bitonic hash hash-plain hash64"] \
                splits(f, m, a, "string:" . l, many ? "$3==$5" : "$3==8") using 1:2 \
                dt dash(l eq "80") title a . ", colors of " . l . " B"
        }
    }
}

# ---- Graham, Ladd, Gorentla Venkata ----
# What the paper says in words, since its pictures have no numbers: figure, ranks,
# shared, messages.
$paper << EOD
4,2,0.30,1.46
4,12,1.57,8.18
5,2,0.42,1.89
5,16,2.14,11.89
EOD
unset logscale
set logscale y 10
set xtics auto
set yrange [0.05:20]
set xlabel "ranks of the node"
levels(f, w) = rows("hier-simulated", sprintf("$1==%d && $4==\"%s\"", f, w), "$6, $7")
kinds = "shared messages steps stack"
names = "'flags' 'messages' 'flags, software of the paper' 'messages, software of the paper'"
do for [f in "4 5"] {
    set output "hier-" . (f eq "4" ? "jaguar" : "smoky") . ".svg"
    set title "barrier on a node of " . (f eq "4" ? "jaguar, 2 sockets of 6 cores" : "smoky, 4 sockets of 4 cores") . ", simulated, and the paper's"
    set xrange [1:(f eq "4" ? 13 : 17)]
    plot for [i = 1:4] levels(f + 0, word(kinds, i)) using 1:2 lt i title word(names, i) . ", 2 levels", \
        for [i = 1:4] levels(f + 0, word(kinds, i) . "-flat") using 1:2 lt i dt 2 title word(names, i) . ", flat", \
        $paper using 2:($1==(f + 0) ? $3 : 1/0) with points pt 5 ps 1.2 lc rgb "#000000" title "paper, flags", \
        $paper using 2:($1==(f + 0) ? $4 : 1/0) with points pt 9 ps 1.4 lc rgb "#000000" title "paper, messages"
}
# Figures 6 and 7: what they say; the paper's 0.90 for one socket in figure 7 is at
# odds with figure 6 and with its own 68%.
$sockets << EOD
2 on one,0 1,6,0.42
2 on two,0 4,6,0.51
4 on one,0 1 2 3,6,0.79
4 on two,0 1 4 5,6,0.90
4 on four,0 4 8 12,7,1.33
EOD
unset logscale
set xrange [*:*]
set yrange [0:*]
set output "hier-sockets.svg"
set title "barrier on smoky, simulated, and the paper's"
set xlabel "ranks, on so many sockets"
set style data histograms
set style fill solid 0.7
ways(w) = rows("hier-simulated", "$4==\"" . w . "\" && ($1==6 || ($1==7 && $3==\"0 4 8 12\"))", "$7")
plot $sockets using 4:xticlabel(1) title "paper", \
    ways("steps-flat") using 1 title "software of the paper, flat", \
    ways("shared") using 1 title "flags, 2 levels", \
    ways("shared-flat") using 1 title "flags, flat"

set style data linespoints
set logscale x 2
set logscale y 10
set yrange [0.05:500]
set xlabel "ranks on 2 cores of one host"
set ylabel "microseconds"
set output "hier-here.svg"
set title "barrier on this machine: median, least and most of the turns"
kinds = "default shared-flat shared messages-flat messages network"
names = "'default' 'flags, flat' 'flags, 2 levels' 'messages, flat' 'messages, 2 levels' 'network: UCX over TCP'"
way(w) = rows("hier-here", "$1==\"" . w . "\"", "$3, $4, $5, $6")
plot for [i = 1:6] way(word(kinds, i)) using 1:2:3:4 with yerrorlines title word(names, i)

# ---- what ranks do in one alltoall: trace.csv ----
set terminal svg noenhanced size 1000,900 font "sans,12" background "white"
set output "trace.svg"
set multiplot layout 2,1 title "one alltoall of 16 KiB, 4 nodes of 4 ranks of hpc-b, simulated: what each rank does"
unset logscale
set key outside right top
set xlabel "microseconds"
set ylabel "rank"
set xrange [0:360]
set yrange [15.8:-0.8]
set xtics auto
set ytics 1
set style fill solid 1 noborder
bars(a, what) = rows("trace", sprintf("$1==\"%s\" && $3==\"%s\"", a, what), "$5, $6, $2")
do for [a in "nmpml onmpml"] {
    set title a . (a eq "nmpml" ? ": gather, put, then scatter" : ": overlapped")
    plot bars(a, "put") using 1:3:1:2:($3 - 0.35):($3 - 0.1) with boxxyerror lt 5 title "puts", \
        bars(a, "gather") using 1:3:1:2:($3 - 0.05):($3 + 0.35) with boxxyerror lt 1 title "gather", \
        bars(a, "scatter") using 1:3:1:2:($3 - 0.05):($3 + 0.35) with boxxyerror lt 3 title "scatter"
}
unset multiplot
set xrange [*:*]
set yrange [*:*]
set ytics auto
unset title

# ---- beside Open MPI and MPICH: the time of the best of their settings for each
# layout / catena's with buffers of malloc, 95% intervals ----
all = "barrier bcast reduce allreduce gather scatter allgather alltoall alltoallv alltoallw reduce_scatter scan neighbor_allgather neighbor_alltoall neighbor_alltoallv neighbor_alltoallw"
layouts = "bound2 one4 one8 one16 hosts4x4"
names = "'2 ranks, a core each' '4 ranks on 2 cores' '8 ranks on 2 cores' '16 ranks on 2 cores' '4 emulated hosts of 4 ranks'"
best(c, l, k) = rows("peers", sprintf("$1==\"%s\" && $2==\"%s\" && $3==\"%s\" && $12==\"best\"", c, l, k), "$4 == 0 ? 8 : $4, $9, $10, $11")
do for [k in "new kept"] {
    set terminal svg noenhanced size 1100,1050 font "sans,11" background "white"
    set output "peers-" . k . ".svg"
    set multiplot layout 5,4 title "best of Open MPI and MPICH / catena, buffers of malloc, " . \
        (k eq "new" ? "new contents in every call, read" : "contents kept, not read") . ": above 1 catena is faster"
    unset key
    @sizes
    set xtics ("8 B" 8, "256 B" 256, "8 KiB" 8192, "256 KiB" 262144)
    unset xlabel
    set tmargin 2
    unset ylabel
    set logscale y 2
    set yrange [0.5:16]
    set xrange [4:2097152]
    do for [which in all] {
        set title which offset 0,-0.5
        plot 1 with lines notitle lc rgb "#999999", \
            for [i = 1:5] best(which, word(layouts, i), k) using 1:2:3:4 with yerrorlines lt i title word(names, i)
    }
    unset title
    unset tics
    unset border
    set key center center samplen 3
    set yrange [0.5:16]
    plot for [i = 1:5] NaN with linespoints lt i title word(names, i)
    unset multiplot
    set border 3
    set tics nomirror
}
