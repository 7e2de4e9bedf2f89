//! Tensors that stay on a device.

use crate::context::Keep;
use crate::graph::{holds, rank_of};
use crate::{raw, Code, DType, Device, Element, Error, Result};
use backplane_sys as sys;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Orders those who use the same bytes from several threads, as backplane.h asks of callers: held while work is handed over and while the host copies.
#[derive(Clone, Default)]
pub(crate) struct Order(Arc<Mutex<()>>);

impl Order {
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Each once, always in the same order, so that nobody waits for ever.
    pub(crate) fn hold_all(orders: &mut Vec<Order>) -> Vec<MutexGuard<'_, ()>> {
        orders.sort_by_key(|o| Arc::as_ptr(&o.0) as usize);
        orders.dedup_by_key(|o| Arc::as_ptr(&o.0) as usize);
        orders.iter().map(Order::hold).collect()
    }
}

/// Bytes on a device, dense and row-major. Any thread: where several use the same bytes, one after the other.
///
/// Dropping it gives the bytes back when the work that uses them is done.
pub struct Tensor {
    raw: NonNull<sys::backplane_tensor>,
    dtype: DType,
    shape: Vec<i64>,
    pub(crate) order: Order,
    keep: Keep,
}

// SAFETY: backplane.h: tensors may be used from any thread; who writes what another thread uses orders the two, which `order` does.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_tensor_destroy(self.raw.as_ptr()) }
    }
}

impl Tensor {
    /// Of a content that is not defined; write to it, or have a session do so.
    pub fn new(device: &Device, dtype: DType, dims: &[i64]) -> Result<Tensor> {
        Tensor::made(device, dtype, dims, std::ptr::null())
    }
    /// Of this content.
    pub fn from_slice<T: Element>(device: &Device, dtype: DType, dims: &[i64], data: &[T]) -> Result<Tensor> {
        holds::<T>("the tensor", dtype)?;
        let tensor = Tensor::made(device, dtype, dims, std::ptr::null())?;
        tensor.write(data)?;
        Ok(tensor)
    }
    fn made(device: &Device, dtype: DType, dims: &[i64], data: *const c_void) -> Result<Tensor> {
        let rank = rank_of(dims)?;
        // SAFETY: `dims` has `rank` numbers.
        let raw = raw::make(|out, error| unsafe {
            sys::backplane_tensor_create(device.raw(), dtype.0, dims.as_ptr(), rank, data, out, error)
        })?;
        Tensor::from_raw(raw, Order::default(), device.keep())
    }
    pub(crate) fn from_raw(raw: NonNull<sys::backplane_tensor>, order: Order, keep: Keep) -> Result<Tensor> {
        let mut tensor = Tensor { raw, dtype: DType(0), shape: Vec::new(), order, keep };
        let mut dims = [0i64; sys::BP_MAX_RANK];
        let (mut rank, mut dtype) = (0u32, 0u32);
        // SAFETY: room for the most that a shape has.
        raw::call(|error| unsafe {
            sys::backplane_tensor_shape(tensor.raw(), &mut dtype, dims.as_mut_ptr(), &mut rank, error)
        })?;
        tensor.dtype = DType(dtype);
        tensor.shape = dims[..rank as usize].to_vec();
        Ok(tensor)
    }
    pub(crate) fn raw(&self) -> *mut sys::backplane_tensor {
        self.raw.as_ptr()
    }
    /// Its element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// Its shape.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }
    /// Copies all of it, when the work that writes it is done.
    pub fn read<T: Element>(&self, into: &mut [T]) -> Result<()> {
        holds::<T>("the tensor", self.dtype)?;
        let _alone = self.order.hold();
        let bytes = std::mem::size_of_val(into) as u64;
        // SAFETY: room for so many bytes, any of which make elements.
        raw::call(|error| unsafe { sys::backplane_tensor_read(self.raw(), into.as_mut_ptr() as *mut c_void, bytes, error) })
    }
    /// All of it. Not for blocks, whose bytes [`Tensor::read`] gives.
    pub fn to_vec<T: Element + Default>(&self) -> Result<Vec<T>> {
        let count = self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
        let count = count.ok_or_else(|| Error::new(Code::Invalid, "a tensor of more elements than memory has bytes"))?;
        let mut all = vec![T::default(); count];
        self.read(&mut all)?;
        Ok(all)
    }
    /// Replaces all of it, after everything submitted so far that uses it.
    pub fn write<T: Element>(&self, from: &[T]) -> Result<()> {
        holds::<T>("the tensor", self.dtype)?;
        let _alone = self.order.hold();
        let bytes = std::mem::size_of_val(from) as u64;
        // SAFETY: so many bytes.
        raw::call(|error| unsafe { sys::backplane_tensor_write(self.raw(), from.as_ptr() as *const c_void, bytes, error) })
    }
    /// A part of the first axis, which shares the bytes.
    pub fn rows(&self, first: i64, count: i64) -> Result<Tensor> {
        // SAFETY: the handle lives.
        let raw = raw::make(|out, error| unsafe { sys::backplane_tensor_rows(self.raw(), first, count, out, error) })?;
        Tensor::from_raw(raw, self.order.clone(), self.keep.clone())
    }
}
