package bench

import (
	"encoding/json"

	"github.com/francoispqt/gojay"
	goccy "github.com/goccy/go-json"
	jsoniter "github.com/json-iterator/go"
	"github.com/mailru/easyjson"
	"github.com/pquerna/ffjson/ffjson"
	segmentio "github.com/segmentio/encoding/json"
	"github.com/valyala/fastjson"
	"thalweg.bench/json/easy"
	"thalweg.bench/json/ff"
)

// A library, by what it can, in its fastest published form that keeps all digits: with generated or written methods where it has those.
type library struct {
	name string
	// Encodes a record, again and again.
	encoder func(*record) func() ([]byte, error)
	// Decodes a record; what comes back encodes what was decoded.
	decode func([]byte) (func() ([]byte, error), error)
	// Encodes anything.
	scalar func(any) ([]byte, error)
}

type record struct {
	Title   string  `json:"title"`
	Entries []entry `json:"entries"`
}

type entry struct {
	ID     int               `json:"id"`
	Name   string            `json:"name"`
	Scores []float64         `json:"scores"`
	Tags   map[string]string `json:"tags"`
	Parent *entry            `json:"parent,omitempty"`
	Active bool              `json:"active"`
}

var libraries = []library{
	general("std", json.Marshal, json.Unmarshal),
	general("goccy", func(v any) ([]byte, error) { return goccy.Marshal(v) }, func(b []byte, v any) error { return goccy.Unmarshal(b, v) }),
	general("jsoniter", jsoniter.ConfigDefault.Marshal, jsoniter.ConfigDefault.Unmarshal),
	general("segmentio", segmentio.Marshal, segmentio.Unmarshal),
	{
		name: "easyjson",
		encoder: func(r *record) func() ([]byte, error) {
			same := as[easy.Record](r)
			return func() ([]byte, error) { return easyjson.Marshal(same) }
		},
		decode: func(text []byte) (func() ([]byte, error), error) {
			var into easy.Record
			err := easyjson.Unmarshal(text, &into)
			return func() ([]byte, error) { return json.Marshal(&into) }, err
		},
	},
	{
		name: "ffjson",
		encoder: func(r *record) func() ([]byte, error) {
			same := as[ff.Record](r)
			return func() ([]byte, error) {
				text, err := ffjson.Marshal(same)
				// Its buffers are pooled: the text is the caller's until it says so.
				ffjson.Pool(text)
				return text, err
			}
		},
		decode: func(text []byte) (func() ([]byte, error), error) {
			var into ff.Record
			err := ffjson.Unmarshal(text, &into)
			return func() ([]byte, error) { return json.Marshal(&into) }, err
		},
	},
	{
		name: "gojay",
		encoder: func(r *record) func() ([]byte, error) {
			return func() ([]byte, error) { return gojay.MarshalJSONObject(r) }
		},
		decode: func(text []byte) (func() ([]byte, error), error) {
			var into record
			err := gojay.UnmarshalJSONObject(text, &into)
			return func() ([]byte, error) { return json.Marshal(&into) }, err
		},
		scalar: gojay.Marshal,
	},
	// It parses only, into values of its own.
	{
		name: "fastjson",
		decode: func(text []byte) (func() ([]byte, error), error) {
			parser := parsers.Get()
			value, err := parser.ParseBytes(text)
			if err != nil {
				return nil, err
			}
			parsers.Put(parser)
			return func() ([]byte, error) { return value.MarshalTo(nil), nil }, nil
		},
	},
}

var parsers fastjson.ParserPool

func general(name string, marshal func(any) ([]byte, error), unmarshal func([]byte, any) error) library {
	return library{
		name:    name,
		encoder: func(r *record) func() ([]byte, error) { return func() ([]byte, error) { return marshal(r) } },
		decode: func(text []byte) (func() ([]byte, error), error) {
			var into record
			err := unmarshal(text, &into)
			return func() ([]byte, error) { return marshal(&into) }, err
		},
		scalar: marshal,
	}
}

// The same record as another type.
func as[T any](r *record) *T {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	into := new(T)
	if err := json.Unmarshal(text, into); err != nil {
		panic(err)
	}
	return into
}

// What gojay asks of a type.

func (r *record) IsNil() bool { return r == nil }
func (r *record) NKeys() int  { return 2 }

func (r *record) MarshalJSONObject(encoder *gojay.Encoder) {
	encoder.StringKey("title", r.Title)
	encoder.ArrayKey("entries", (*entries)(&r.Entries))
}

func (r *record) UnmarshalJSONObject(decoder *gojay.Decoder, key string) error {
	switch key {
	case "title":
		return decoder.String(&r.Title)
	case "entries":
		return decoder.Array((*entries)(&r.Entries))
	}
	return nil
}

type entries []entry

func (e *entries) IsNil() bool { return e == nil }

func (e *entries) MarshalJSONArray(encoder *gojay.Encoder) {
	for at := range *e {
		encoder.Object(&(*e)[at])
	}
}

func (e *entries) UnmarshalJSONArray(decoder *gojay.Decoder) error {
	*e = append(*e, entry{})
	return decoder.Object(&(*e)[len(*e)-1])
}

func (e *entry) IsNil() bool { return e == nil }
func (e *entry) NKeys() int  { return 6 }

func (e *entry) MarshalJSONObject(encoder *gojay.Encoder) {
	encoder.IntKey("id", e.ID)
	encoder.StringKey("name", e.Name)
	encoder.ArrayKey("scores", (*scores)(&e.Scores))
	encoder.ObjectKey("tags", tags(e.Tags))
	encoder.ObjectKeyOmitEmpty("parent", e.Parent)
	encoder.BoolKey("active", e.Active)
}

func (e *entry) UnmarshalJSONObject(decoder *gojay.Decoder, key string) error {
	switch key {
	case "id":
		return decoder.Int(&e.ID)
	case "name":
		return decoder.String(&e.Name)
	case "scores":
		e.Scores = []float64{}
		return decoder.Array((*scores)(&e.Scores))
	case "tags":
		e.Tags = map[string]string{}
		return decoder.Object(tags(e.Tags))
	case "parent":
		e.Parent = new(entry)
		return decoder.Object(e.Parent)
	case "active":
		return decoder.Bool(&e.Active)
	}
	return nil
}

type scores []float64

func (s *scores) IsNil() bool { return s == nil }

func (s *scores) MarshalJSONArray(encoder *gojay.Encoder) {
	for _, score := range *s {
		encoder.Float64(score)
	}
}

func (s *scores) UnmarshalJSONArray(decoder *gojay.Decoder) error {
	var score float64
	if err := decoder.Float64(&score); err != nil {
		return err
	}
	*s = append(*s, score)
	return nil
}

type tags map[string]string

func (t tags) IsNil() bool { return t == nil }
func (t tags) NKeys() int  { return 0 }

func (t tags) MarshalJSONObject(encoder *gojay.Encoder) {
	for key, value := range t {
		encoder.StringKey(key, value)
	}
}

func (t tags) UnmarshalJSONObject(decoder *gojay.Decoder, key string) error {
	var value string
	if err := decoder.String(&value); err != nil {
		return err
	}
	t[key] = value
	return nil
}
