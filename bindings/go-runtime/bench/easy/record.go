// Package easy has the records with the methods that easyjson generates.
package easy

//go:generate go run github.com/mailru/easyjson/easyjson -all -no_std_marshalers record.go

type Entry struct {
	ID     int               `json:"id"`
	Name   string            `json:"name"`
	Scores []float64         `json:"scores"`
	Tags   map[string]string `json:"tags"`
	Parent *Entry            `json:"parent,omitempty"`
	Active bool              `json:"active"`
}

type Record struct {
	Title   string  `json:"title"`
	Entries []Entry `json:"entries"`
}
