module lochan/bench/load

go 1.19
