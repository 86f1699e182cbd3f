//go:build linux

package pagetest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"slices"
)

// shoot writes a picture of the page from its top, at most so high, in few bytes.
func (p *tab) shoot(path string, height int) {
	p.t.Helper()
	var size struct{ W, H int }
	p.eval(`({w: innerWidth, h: Math.min(document.documentElement.scrollHeight, `+fmt.Sprint(height)+`)})`, &size)
	var picture struct{ Data string }
	p.call("Page.captureScreenshot", object{
		"format": "png", "captureBeyondViewport": true, "clip": object{"x": 0, "y": 0, "width": size.W, "height": size.H, "scale": 1},
	}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColors(whole)); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("%s: %d KB", path, out.Len()/1024)
}

// fewColors leaves the 256 colours that there is most of, which a page has hardly more of, and takes the nearest for others.
func fewColors(from image.Image) image.Image {
	count := map[color.RGBA]int{}
	size := from.Bounds()
	whole := image.NewRGBA(size)
	draw.Draw(whole, size, from, size.Min, draw.Src)
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[whole.RGBAAt(x, y)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	var kept color.Palette
	for _, c := range all[:min(256, len(all))] {
		kept = append(kept, c)
	}
	few := image.NewPaletted(size, kept)
	draw.Draw(few, size, whole, size.Min, draw.Src)
	return few
}
