//! Graphs are built node by node.

use crate::{raw, Attr, Code, DType, Element, Error, Op, Result};
use backplane_sys as sys;
use std::ffi::{c_void, CString};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tensor of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId {
    graph: u64,
    index: u32,
}

impl TensorId {
    /// In the place of an optional input: it is left out.
    pub const NONE: TensorId = TensorId { graph: 0, index: sys::BP_NO_TENSOR };
}

/// How a node does what it does. What is not stated has its default.
#[derive(Clone, Debug)]
pub struct Attribute {
    id: Attr,
    value: Value,
}
#[derive(Clone, Debug)]
enum Value {
    Int(i64),
    Float(f64),
    Ints(Vec<i64>),
}

impl Attribute {
    /// Of a whole number, such as `axis`.
    pub fn int(id: Attr, value: i64) -> Attribute {
        Attribute { id, value: Value::Int(value) }
    }
    /// Of a number, such as `alpha`.
    pub fn float(id: Attr, value: f64) -> Attribute {
        Attribute { id, value: Value::Float(value) }
    }
    /// Of whole numbers, such as `strides`.
    pub fn ints(id: Attr, values: &[i64]) -> Attribute {
        Attribute { id, value: Value::Ints(values.to_vec()) }
    }
    fn raw(&self) -> sys::bp_attribute {
        let mut raw = sys::bp_attribute {
            struct_size: raw::size_of::<sys::bp_attribute>(),
            id: self.id.0,
            type_: sys::BP_ATTRIBUTE_INT,
            reserved: 0,
            integer: 0,
            number: 0.0,
            integers: sys::bp_blob { data: std::ptr::null(), size: 0 },
        };
        match &self.value {
            Value::Int(value) => raw.integer = *value,
            Value::Float(value) => {
                raw.type_ = sys::BP_ATTRIBUTE_FLOAT;
                raw.number = *value;
            }
            Value::Ints(values) => {
                raw.type_ = sys::BP_ATTRIBUTE_INTS;
                raw.integers = sys::bp_blob { data: values.as_ptr() as *const c_void, size: values.len() * 8 };
            }
        }
        raw
    }
}

/// An input or output of a graph.
#[derive(Clone)]
pub(crate) struct Port {
    pub(crate) name: CString,
    pub(crate) dtype: DType,
}

/// What is computed: tensors, and nodes that make them of others. Each step checks shapes and says what is wrong. Any thread, one call at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<backplane::Graph>();
/// ```
pub struct Graph {
    raw: NonNull<sys::backplane_graph>,
    number: u64,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

// SAFETY: backplane.h: graphs may be used from any thread, one call at a time.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: ours, and used no more.
        unsafe { sys::backplane_graph_destroy(self.raw.as_ptr()) }
    }
}

impl Graph {
    /// An empty one.
    pub fn new() -> Result<Graph> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // SAFETY: no argument but where the handle goes.
        let raw = raw::make(|out, error| unsafe { sys::backplane_graph_create(out, error) })?;
        Ok(Graph { raw, number: NEXT.fetch_add(1, Ordering::Relaxed), inputs: Vec::new(), outputs: Vec::new() })
    }
    pub(crate) fn raw(&self) -> *mut sys::backplane_graph {
        self.raw.as_ptr()
    }
    fn own(&self, index: u32) -> TensorId {
        TensorId { graph: self.number, index }
    }
    fn index(&self, tensor: TensorId) -> Result<u32> {
        if tensor.graph != self.number && tensor != TensorId::NONE {
            return Err(Error::new(
                Code::Invalid,
                "a tensor of another graph was given: use what this graph's functions returned",
            ));
        }
        Ok(tensor.index)
    }

    fn tensor(&mut self, role: u32, name: &str, dtype: DType, dims: &[i64]) -> Result<(TensorId, CString)> {
        let name = raw::c_string(name, "the tensor")?;
        let rank = rank_of(dims)?;
        let mut index = 0;
        // SAFETY: `dims` has `rank` numbers, the name its zero.
        raw::call(|error| unsafe {
            sys::backplane_graph_tensor(self.raw(), role, name.as_ptr(), dtype.0, dims.as_ptr(), rank, &mut index, error)
        })?;
        Ok((self.own(index), name))
    }
    /// A tensor that some function of the library puts into this graph.
    #[cfg(feature = "models")]
    pub(crate) fn put(
        &mut self,
        function: impl FnOnce(*mut sys::backplane_graph, *mut u32, *mut sys::bp_error) -> sys::bp_code,
    ) -> Result<TensorId> {
        let mut index = 0;
        raw::call(|error| function(self.raw(), &mut index, error))?;
        Ok(self.own(index))
    }
    /// A tensor that each run is given.
    pub fn input(&mut self, name: &str, dtype: DType, dims: &[i64]) -> Result<TensorId> {
        let (id, name) = self.tensor(sys::BP_ROLE_INPUT, name, dtype, dims)?;
        self.inputs.push(Port { name, dtype });
        Ok(id)
    }
    /// A tensor that a session is given once ([`crate::Weights`]).
    pub fn weight(&mut self, name: &str, dtype: DType, dims: &[i64]) -> Result<TensorId> {
        Ok(self.tensor(sys::BP_ROLE_WEIGHT, name, dtype, dims)?.0)
    }
    /// A tensor that is kept from run to run; zero at first.
    pub fn state(&mut self, name: &str, dtype: DType, dims: &[i64]) -> Result<TensorId> {
        Ok(self.tensor(sys::BP_ROLE_STATE, name, dtype, dims)?.0)
    }
    /// A small tensor whose bytes are part of the graph.
    pub fn constant<T: Element>(&mut self, name: &str, dtype: DType, dims: &[i64], data: &[T]) -> Result<TensorId> {
        holds::<T>(name, dtype)?;
        let name = raw::c_string(name, "the tensor")?;
        let rank = rank_of(dims)?;
        let mut index = 0;
        // SAFETY: `dims` has `rank` numbers, `data` so many bytes.
        raw::call(|error| unsafe {
            sys::backplane_graph_constant(
                self.raw(),
                name.as_ptr(),
                dtype.0,
                dims.as_ptr(),
                rank,
                data.as_ptr() as *const c_void,
                std::mem::size_of_val(data) as u64,
                &mut index,
                error,
            )
        })?;
        Ok(self.own(index))
    }

    /// A node of one output. [`TensorId::NONE`]: an optional input that is left out.
    pub fn add(&mut self, op: Op, inputs: &[TensorId], attributes: &[Attribute]) -> Result<TensorId> {
        let inputs = inputs.iter().map(|&t| self.index(t)).collect::<Result<Vec<u32>>>()?;
        let attributes: Vec<sys::bp_attribute> = attributes.iter().map(Attribute::raw).collect();
        let mut index = 0;
        // SAFETY: lists of as many items as are said.
        raw::call(|error| unsafe {
            sys::backplane_graph_add(
                self.raw(),
                op.0,
                inputs.as_ptr(),
                inputs.len() as u32,
                attributes.as_ptr(),
                attributes.len() as u32,
                &mut index,
                error,
            )
        })?;
        Ok(self.own(index))
    }
    /// A node of any number of outputs.
    pub fn add_all(&mut self, op: Op, inputs: &[TensorId], attributes: &[Attribute]) -> Result<Vec<TensorId>> {
        let inputs = inputs.iter().map(|&t| self.index(t)).collect::<Result<Vec<u32>>>()?;
        let raw_attributes: Vec<sys::bp_attribute> = attributes.iter().map(Attribute::raw).collect();
        // As many as an op can have: one for each size of a Split, three otherwise.
        let sizes = attributes.iter().map(|a| if let Value::Ints(values) = &a.value { values.len() } else { 0 }).max();
        let mut made = vec![0u32; sizes.unwrap_or(0).max(8)];
        let mut count = 0u32;
        // SAFETY: lists of as many items as are said, room for as many as are said.
        raw::call(|error| unsafe {
            sys::backplane_graph_add_all(
                self.raw(),
                op.0,
                inputs.as_ptr(),
                inputs.len() as u32,
                raw_attributes.as_ptr(),
                raw_attributes.len() as u32,
                made.as_mut_ptr(),
                made.len() as u32,
                &mut count,
                error,
            )
        })?;
        if count as usize > made.len() {
            return Err(Error::new(
                Code::Internal,
                format!("{:?} has {} outputs, more than this crate has room for", op, count),
            ));
        }
        made.truncate(count as usize);
        Ok(made.into_iter().map(|index| self.own(index)).collect())
    }
    /// Gives a tensor to whoever runs the graph.
    pub fn output(&mut self, tensor: TensorId, name: &str) -> Result<()> {
        let index = self.index(tensor)?;
        let name = raw::c_string(name, "the output")?;
        let dtype = self.dtype(tensor)?;
        // SAFETY: a text with its zero.
        raw::call(|error| unsafe { sys::backplane_graph_output(self.raw(), index, name.as_ptr(), error) })?;
        self.outputs.push(Port { name, dtype });
        Ok(())
    }
    /// What a state becomes by a run.
    pub fn update(&mut self, state: TensorId, value: TensorId) -> Result<()> {
        let (state, value) = (self.index(state)?, self.index(value)?);
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_graph_update(self.raw(), state, value, error) })
    }
    /// The shape of a tensor.
    pub fn shape(&self, tensor: TensorId) -> Result<Vec<i64>> {
        let index = self.index(tensor)?;
        let mut dims = [0i64; sys::BP_MAX_RANK];
        let mut rank = 0u32;
        // SAFETY: room for the most that a shape has.
        raw::call(|error| unsafe { sys::backplane_graph_shape(self.raw(), index, dims.as_mut_ptr(), &mut rank, error) })?;
        Ok(dims[..rank as usize].to_vec())
    }
    /// The element type of a tensor.
    pub fn dtype(&self, tensor: TensorId) -> Result<DType> {
        let index = self.index(tensor)?;
        let mut dtype = 0u32;
        // SAFETY: the handle lives.
        raw::call(|error| unsafe { sys::backplane_graph_dtype(self.raw(), index, &mut dtype, error) })?;
        Ok(DType(dtype))
    }
}

pub(crate) fn rank_of(dims: &[i64]) -> Result<u32> {
    u32::try_from(dims.len()).map_err(|_| Error::new(Code::Invalid, "a shape of that many axes"))
}

/// An error where slices of T are not the bytes of tensors of that type.
pub(crate) fn holds<T: Element>(name: &str, dtype: DType) -> Result<()> {
    if T::holds(dtype) {
        return Ok(());
    }
    Err(Error::new(
        Code::Invalid,
        format!("'{}' is {:?}: a slice of {} does not hold it", name, dtype, std::any::type_name::<T>()),
    ))
}
