#pragma once

// Small questions about a tile's form, shared by the tile algebra.

#include "sim/exec/affine.h"
#include "sim/exec/tile.h"

namespace xpusim::exec {

inline bool is_unknown(const Tile& t) { return t.form == TileForm::kUnknown; }
inline bool is_splat(const Tile& t) { return t.form == TileForm::kSplat; }
inline bool has_affine(const Tile& t) { return is_splat(t) || t.form == TileForm::kAffine; }
inline bool has_box(const Tile& t) { return is_splat(t) || t.form == TileForm::kBox; }

/// A splat or affine tile as an affine form.
inline const Affine& affine_of(const Tile& t, Affine& storage) {
  if (t.form == TileForm::kAffine) return t.affine;
  storage.base = t.bits;
  storage.digits.clear();
  return storage;
}

/// Whether a splat or affine tile may hold a negative element.
inline bool may_be_negative(const Tile& t) {
  Affine storage;
  return range(affine_of(t, storage), t.shape).low < 0;
}

}  // namespace xpusim::exec
