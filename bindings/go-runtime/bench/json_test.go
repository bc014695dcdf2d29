// JSON encoded and decoded by encoding/json and by a published library: records of one, of ten and of a hundred entries, by one goroutine and by
// as many as there are processors.
package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	fast "github.com/goccy/go-json"
)

type entry struct {
	ID     int               `json:"id"`
	Name   string            `json:"name"`
	Scores []float64         `json:"scores"`
	Tags   map[string]string `json:"tags"`
	Parent *entry            `json:"parent,omitempty"`
	Active bool              `json:"active"`
}

type record struct {
	Title   string  `json:"title"`
	Entries []entry `json:"entries"`
}

func made(entries int) *record {
	r := &record{Title: strings.Repeat("title ", 4)}
	for i := range entries {
		tags := map[string]string{"colour": "blue", "number": fmt.Sprint(i)}
		parent := &entry{ID: -i, Name: "parent", Tags: map[string]string{}}
		scores := []float64{float64(i) / 3, 1e-9 * float64(i), 12.5}
		r.Entries = append(r.Entries, entry{i, fmt.Sprintf("entry %d", i), scores, tags, parent, i%2 == 0})
	}
	return r
}

type library struct {
	name      string
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}

var libraries = []library{
	{"std", json.Marshal, json.Unmarshal},
	{"goccy", func(v any) ([]byte, error) { return fast.Marshal(v) }, func(b []byte, v any) error { return fast.Unmarshal(b, v) }},
}

func each(b *testing.B, parallel bool, operation func() error) {
	b.ReportAllocs()
	if !parallel {
		for b.Loop() {
			if err := operation(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := operation(); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	for _, library := range libraries {
		for _, size := range []struct {
			name    string
			entries int
		}{{"small", 1}, {"medium", 10}, {"large", 100}} {
			r := made(size.entries)
			text, err := library.marshal(r)
			if err != nil {
				b.Fatal(err)
			}
			for _, how := range []string{"alone", "parallel"} {
				name := fmt.Sprintf("%s/%s/%s", library.name, size.name, how)
				b.Run("encode/"+name, func(b *testing.B) {
					each(b, how == "parallel", func() error {
						_, err := library.marshal(r)
						return err
					})
				})
				b.Run("decode/"+name, func(b *testing.B) {
					each(b, how == "parallel", func() error {
						var into record
						return library.unmarshal(text, &into)
					})
				})
			}
		}
	}
}

// What is decoded is what was encoded, by either library.
func TestThereAndBack(t *testing.T) {
	for _, library := range libraries {
		text, err := library.marshal(made(10))
		if err != nil {
			t.Fatal(err)
		}
		var into record
		if err := library.unmarshal(text, &into); err != nil {
			t.Fatal(err)
		}
		again, err := library.marshal(&into)
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("%s: %s became %s (%v)", library.name, text, again, err)
		}
	}
}
