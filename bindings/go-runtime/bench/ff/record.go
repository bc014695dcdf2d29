// Package ff has the records with the methods that ffjson generates.
package ff

//go:generate go run github.com/pquerna/ffjson record.go

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
