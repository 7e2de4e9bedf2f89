//! What the lists of this crate become: declarations, and the same as data for the test that holds them to the headers.

/// Enumerators. `A = 0, B = 1: type = LIST;` makes constants of the type, and LIST of their names and values.
macro_rules! constants {
    ($($($name:ident = $value:literal),+ : $type:ty = $list:ident;)*) => {
        $(
            $(#[doc = stringify!($name)] pub const $name: $type = $value;)+
            #[doc(hidden)]
            pub const $list: &[(&str, i64)] = &[$((stringify!($name), $value)),+];
        )*
    };
}

/// Types that only the library sees inside.
macro_rules! handles {
    ($($name:ident),*) => {
        $(
            #[doc = stringify!($name)]
            #[repr(C)]
            pub struct $name {
                inside: [u8; 0],
                neither_sent_nor_moved: PhantomData<(*mut u8, PhantomPinned)>,
            }
        )*
    };
}

/// Structs as C lays them out, and LIST(), which gives of each its name, size, and of each field name, offset and size.
macro_rules! structs {
    ($list:ident: $(pub struct $name:ident { $($field:ident: $type:ty),* })*) => {
        $(
            #[doc = stringify!($name)]
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                $(#[doc = stringify!($field)] pub $field: $type,)*
            }
        )*
        #[doc(hidden)]
        #[allow(non_snake_case)]
        pub fn $list() -> alloc::vec::Vec<$crate::lists::Layout> {
            alloc::vec![$({
                let whole = core::mem::MaybeUninit::<$name>::uninit();
                let start = whole.as_ptr();
                // SAFETY: the addresses of fields are taken; nothing is read.
                let fields = alloc::vec![$(unsafe {
                    let field = core::ptr::addr_of!((*start).$field);
                    (stringify!($field), field as usize - start as usize, $crate::lists::size_at(field))
                }),*];
                (stringify!($name), core::mem::size_of::<$name>(), fields)
            }),*]
        }
    };
}
#[doc(hidden)]
pub type Layout = (&'static str, usize, alloc::vec::Vec<(&'static str, usize, usize)>);
pub(crate) fn size_at<T>(_: *const T) -> usize {
    core::mem::size_of::<T>()
}

/// Functions of the library, and LIST of their names and types as they are written.
macro_rules! functions {
    ($list:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        extern "C" {
            $(#[doc = stringify!($name)] pub fn $name($($argument: $type),*) $(-> $result)?;)*
        }
        #[doc(hidden)]
        pub const $list: &[(&str, &[&str], &str)] = &[$((stringify!($name), &[$(stringify!($type)),*], concat!($(stringify!($result))?))),*];
    };
}
