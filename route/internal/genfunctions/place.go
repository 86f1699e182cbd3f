package main

import (
	"cmp"
	"fmt"
	"slices"
)

// buckets and slots are the sizes of the tables. Both are powers of two, as the
// template's hash function needs.
const (
	buckets = 256
	slots   = 1024
)

// hash must be the same function as functionHash in the template.
func hash(word string) uint32 {
	h := uint32(len(word))
	for _, c := range []byte(word) {
		h = (h ^ uint32(c|0x20)) * 0x01000193
	}
	return h ^ h>>15
}

// slot must be the same function as in the template.
func slot(h uint32, shift uint16) uint32 {
	return (h ^ uint32(shift)*0x9E3779B1) * 0x85EBCA6B >> 22
}

// place finds a slot of its own for every word. The words of a bucket share a
// number, their shift, which is tried out; large buckets go first, while there
// is room. A place is the index of a word plus 1, or 0 for an empty slot.
func place(entries []entry) (shifts, places []uint16, err error) {
	words := make([][]int, buckets)
	for i, e := range entries {
		b := hash(e.name) % buckets
		words[b] = append(words[b], i)
	}
	order := make([]int, buckets)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(words[b]), len(words[a])) })
	shifts, places = make([]uint16, buckets), make([]uint16, slots)
	for _, b := range order {
		shift, found := findShift(entries, words[b], places)
		if !found {
			return nil, nil, fmt.Errorf("no room for %d words in %d slots: make slots larger", len(entries), slots)
		}
		shifts[b] = shift
		for _, i := range words[b] {
			places[slot(hash(entries[i].name), shift)] = uint16(i + 1)
		}
	}
	return shifts, places, nil
}

func findShift(entries []entry, words []int, places []uint16) (uint16, bool) {
	for shift := range uint16(65535) {
		free := true
		taken := map[uint32]bool{}
		for _, i := range words {
			s := slot(hash(entries[i].name), shift)
			free = free && places[s] == 0 && !taken[s]
			taken[s] = true
		}
		if free {
			return shift, true
		}
	}
	return 0, false
}
