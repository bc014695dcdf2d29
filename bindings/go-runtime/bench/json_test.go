package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// The operations of the thesis' Figure 4.16: records of one, of ten and of a hundred entries, encoded and decoded by each library, by one goroutine and
// by as many as there are processors; and the two that the figure finds no gain in, a boolean and an integer encoded.
func BenchmarkJSON(b *testing.B) {
	for _, library := range libraries {
		for _, size := range []struct {
			name    string
			entries int
		}{{"small", 1}, {"medium", 10}, {"large", 100}} {
			r := made(size.entries)
			text, err := json.Marshal(r)
			if err != nil {
				b.Fatal(err)
			}
			for _, how := range []string{"alone", "parallel"} {
				name := fmt.Sprintf("%s/%s/%s", library.name, size.name, how)
				if library.encoder != nil {
					encode := library.encoder(r)
					b.Run("encode/"+name, func(b *testing.B) {
						each(b, how == "parallel", func() error { _, err := encode(); return err })
					})
				}
				if library.decode != nil {
					b.Run("decode/"+name, func(b *testing.B) {
						each(b, how == "parallel", func() error { _, err := library.decode(text); return err })
					})
				}
			}
		}
		if library.scalar != nil {
			b.Run("encode/"+library.name+"/bool", func(b *testing.B) {
				each(b, false, func() error { _, err := library.scalar(true); return err })
			})
			b.Run("encode/"+library.name+"/int", func(b *testing.B) {
				each(b, false, func() error { _, err := library.scalar(123456789); return err })
			})
		}
	}
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

func made(entries int) *record {
	r := &record{Title: strings.Repeat("title ", 4)}
	for i := range entries {
		tags := map[string]string{"colour": "blue", "number": fmt.Sprint(i)}
		parent := &entry{ID: -i, Name: "parent", Scores: []float64{}, Tags: map[string]string{}}
		scores := []float64{float64(i) / 3, 1e-9 * float64(i), 12.5}
		r.Entries = append(r.Entries, entry{i, fmt.Sprintf("entry %d", i), scores, tags, parent, i%2 == 0})
	}
	return r
}

// What each library encodes and decodes is what was there, as encoding/json sees it.
func TestThereAndBack(t *testing.T) {
	right := made(10)
	text, err := json.Marshal(right)
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, text []byte) {
		var into record
		err := json.Unmarshal(text, &into)
		// gojay's numbers may differ in their last digit.
		for at := range into.Entries {
			for i, score := range into.Entries[at].Scores {
				if exact := right.Entries[at].Scores[i]; math.Abs(score-exact) <= 1e-15*math.Abs(exact) {
					into.Entries[at].Scores[i] = exact
				}
			}
		}
		if err != nil || !reflect.DeepEqual(&into, right) {
			t.Fatalf("%s: %s (%v)", name, text, err)
		}
	}
	for _, library := range libraries {
		if library.encoder != nil {
			encoded, err := library.encoder(right)()
			if err != nil {
				t.Fatal(library.name, err)
			}
			same(library.name+" encodes", encoded)
		}
		if library.decode != nil {
			decoded, err := library.decode(text)
			if err != nil {
				t.Fatal(library.name, err)
			}
			again, err := decoded()
			if err != nil {
				t.Fatal(library.name, err)
			}
			same(library.name+" decodes", again)
		}
		if library.scalar != nil {
			if text, err := library.scalar(-7); err != nil || strings.TrimSpace(string(text)) != "-7" {
				t.Fatalf("%s: -7 became %s (%v)", library.name, text, err)
			}
		}
	}
}
