module thalweg.bench/json

go 1.26

require github.com/goccy/go-json v0.10.5
