//! Ops, attributes and element types: numbers of the library, with names.

use crate::raw;
use backplane_sys as sys;
use std::fmt;

macro_rules! numbered {
    ($(#[$about:meta])* $type:ident, $from:ident, $name_of:ident: $($number:literal $c:ident $constant:ident $name:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $type(pub(crate) u32);

        impl $type {
            $(#[doc = $name] pub const $constant: $type = $type($number);)*

            /// By its name, in the spelling of ONNX or in lower case; None: there is none.
            pub fn from_name(name: &str) -> Option<$type> {
                let name = std::ffi::CString::new(name).ok()?;
                // SAFETY: a text with its zero.
                match unsafe { sys::$from(name.as_ptr()) } {
                    0 => None,
                    number => Some($type(number)),
                }
            }
            /// Its name.
            pub fn name(self) -> &'static str {
                // SAFETY: a constant of the library.
                unsafe { raw::text_at(sys::$name_of(self.0)) }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

macro_rules! op_type {
    ($($rows:tt)*) => {
        numbered! { /// What a node does; `ops.h` says what each means.
            Op, backplane_op, backplane_op_name: $($rows)* }
    };
}
sys::for_each_op!(op_type);

macro_rules! attribute_type {
    ($($rows:tt)*) => {
        numbered! { /// How it does it.
            Attr, backplane_attribute, backplane_attribute_name: $($rows)* }
    };
}
sys::for_each_attribute!(attribute_type);

numbered! { /// An element type. Those of blocks hold 32 or 256 values along the last axis, as GGUF has them.
    DType, backplane_dtype, backplane_dtype_name:
    1 BP_F32 F32 "f32"; 2 BP_F16 F16 "f16"; 3 BP_BF16 BF16 "bf16"; 4 BP_F64 F64 "f64"; 5 BP_I8 I8 "i8"; 6 BP_U8 U8 "u8"; 7 BP_I16 I16 "i16";
    8 BP_U16 U16 "u16"; 9 BP_I32 I32 "i32"; 10 BP_I64 I64 "i64"; 11 BP_BOOL BOOL "bool: a byte, 0 or 1"; 12 BP_Q8_0 Q8_0 "q8_0";
    13 BP_Q4_0 Q4_0 "q4_0"; 14 BP_Q4_1 Q4_1 "q4_1"; 15 BP_Q5_0 Q5_0 "q5_0"; 16 BP_Q5_1 Q5_1 "q5_1"; 17 BP_Q2_K Q2_K "q2_k";
    18 BP_Q3_K Q3_K "q3_k"; 19 BP_Q4_K Q4_K "q4_k"; 20 BP_Q5_K Q5_K "q5_k"; 21 BP_Q6_K Q6_K "q6_k"; 22 BP_IQ4_NL IQ4_NL "iq4_nl";
    23 BP_IQ4_XS IQ4_XS "iq4_xs"; 24 BP_Q8_K Q8_K "q8_k";
}

impl DType {
    fn is_blocks(self) -> bool {
        self.0 >= sys::BP_Q8_0
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that tensors are made of, any bits of which are one. `f16` and `bf16` are given as their bits, in `u16`; truth and blocks in `u8`;
/// `u32` and `u64` are the bits of `I32` and `I64`, as which ONNX's unsigned numbers are held.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Whether slices of it are the bytes of tensors of that type.
    fn holds(dtype: DType) -> bool;
}

macro_rules! elements {
    ($($type:ty: |$dtype:ident| $holds:expr;)*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                fn holds($dtype: DType) -> bool {
                    $holds
                }
            }
        )*
    };
}
elements! {
    f32: |d| d == DType::F32;
    f64: |d| d == DType::F64;
    i8: |d| d == DType::I8;
    u8: |d| d == DType::U8 || d == DType::BOOL || d.is_blocks();
    i16: |d| d == DType::I16;
    u16: |d| d == DType::U16 || d == DType::F16 || d == DType::BF16;
    i32: |d| d == DType::I32;
    u32: |d| d == DType::I32;
    i64: |d| d == DType::I64;
    u64: |d| d == DType::I64;
}
