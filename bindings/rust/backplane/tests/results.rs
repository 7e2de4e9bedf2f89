//! What this crate computes is what the C API computes, byte by byte; data that stays on the device, states, threads, closures.
#![deny(unsafe_op_in_unsafe_fn)]
mod support;

use backplane::{Attr, Attribute, Context, DType, Device, Event, Graph, Input, Op, Output, Session, Tensor, Weights};
use backplane_sys as sys;
use std::collections::BTreeMap;
use std::ffi::{c_void, CString};
use std::os::raw::c_char;
use support::{context, modules};

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 101) as f32 / 101.0 - 0.5).collect()
}

/// A convolution, with a stride and padding, beside what the C API makes of the same.
#[test]
fn a_run_gives_the_bytes_of_the_c_api() {
    let (x, w) = (numbers(3 * 9 * 9, 1), numbers(4 * 3 * 3 * 3, 2));
    let device = context().open("cpu").unwrap();
    let mut graph = Graph::new().unwrap();
    let input = graph.input("x", DType::F32, &[1, 3, 9, 9]).unwrap();
    let weight = graph.weight("w", DType::F32, &[4, 3, 3, 3]).unwrap();
    let how = [Attribute::ints(Attr::STRIDES, &[2, 2]), Attribute::ints(Attr::PADS, &[1, 1, 1, 1])];
    let made = graph.add(Op::CONV, &[input, weight, backplane::TensorId::NONE], &how).unwrap();
    let alpha = [Attribute::float(Attr::ALPHA, 0.25)];
    let y = graph.add(Op::LEAKY_RELU, &[made], &alpha).unwrap();
    graph.output(y, "y").unwrap();
    assert_eq!(graph.shape(y).unwrap(), [1, 4, 5, 5]);
    let mut map = BTreeMap::new();
    map.insert("w".to_string(), w.clone());
    let mut session = Session::new(&device, &graph, &Weights::new(map).unwrap()).unwrap();
    let mut ours = vec![0f32; 100];
    session.run(&[Input::new("x", &x)], &mut [Output::new("y", &mut ours)], None).unwrap();
    assert!(session.plan().unwrap().contains("cpu:0") && session.plan_json().unwrap().starts_with('{'));
    assert_eq!(ours, by_the_c_api(&x, &w));
    assert!(ours.iter().any(|v| *v != 0.0));
}

unsafe extern "C" fn the_weight(arg: *mut c_void, _: *const c_char, bytes: *mut u64) -> *const c_void {
    // SAFETY: what the source was made with, and where the size goes.
    let (w, bytes) = unsafe { (&*(arg as *const Vec<f32>), &mut *bytes) };
    *bytes = w.len() as u64 * 4;
    w.as_ptr() as *const c_void
}

#[allow(clippy::ptr_arg)]
fn by_the_c_api(x: &[f32], w: &Vec<f32>) -> Vec<f32> {
    let null = std::ptr::null_mut();
    let path = CString::new(modules().to_str().unwrap()).unwrap();
    let paths = [path.as_ptr()];
    // SAFETY: zeros are the defaults of the record; texts end with zeros; lists are as long as is said; handles are given back once.
    unsafe {
        let mut options: sys::backplane_context_options = std::mem::zeroed();
        options.struct_size = std::mem::size_of_val(&options) as u32;
        options.skip_defaults = 1;
        options.skip_environment = 1;
        options.module_paths = paths.as_ptr();
        options.module_path_count = 1;
        let (mut context, mut device) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(sys::backplane_context_create(&options, &mut context, null as *mut _), sys::BP_OK);
        assert_eq!(
            sys::backplane_device_open(context, "cpu\0".as_ptr() as *const _, &mut device, null as *mut _),
            sys::BP_OK
        );
        let (mut graph, mut session) = (std::ptr::null_mut(), std::ptr::null_mut());
        sys::backplane_graph_create(&mut graph, null as *mut _);
        let (mut ids, mut made, mut y) = ([0u32, 0, sys::BP_NO_TENSOR], 0u32, 0u32);
        let (dims_x, dims_w) = ([1i64, 3, 9, 9], [4i64, 3, 3, 3]);
        let (name_x, name_w, name_y) = ("x\0".as_ptr() as *const _, "w\0".as_ptr() as *const _, "y\0".as_ptr() as *const _);
        sys::backplane_graph_tensor(
            graph,
            sys::BP_ROLE_INPUT,
            name_x,
            sys::BP_F32,
            dims_x.as_ptr(),
            4,
            &mut ids[0],
            null as *mut _,
        );
        sys::backplane_graph_tensor(
            graph,
            sys::BP_ROLE_WEIGHT,
            name_w,
            sys::BP_F32,
            dims_w.as_ptr(),
            4,
            &mut ids[1],
            null as *mut _,
        );
        let (strides, pads) = ([2i64, 2], [1i64; 4]);
        let attribute = |id, type_, number, list: &[i64]| sys::bp_attribute {
            struct_size: std::mem::size_of::<sys::bp_attribute>() as u32,
            id,
            type_,
            reserved: 0,
            integer: 0,
            number,
            integers: sys::bp_blob { data: list.as_ptr() as *const _, size: list.len() * 8 },
        };
        let how = [
            attribute(sys::BP_ATTR_strides, sys::BP_ATTRIBUTE_INTS, 0.0, &strides),
            attribute(sys::BP_ATTR_pads, sys::BP_ATTRIBUTE_INTS, 0.0, &pads),
        ];
        let alpha = attribute(sys::BP_ATTR_alpha, sys::BP_ATTRIBUTE_FLOAT, 0.25, &[]);
        sys::backplane_graph_add(graph, sys::BP_OP_conv, ids.as_ptr(), 3, how.as_ptr(), 2, &mut made, null as *mut _);
        sys::backplane_graph_add(graph, sys::BP_OP_leaky_relu, &made, 1, &alpha, 1, &mut y, null as *mut _);
        sys::backplane_graph_output(graph, y, name_y, null as *mut _);
        let source = w as *const Vec<f32> as *mut c_void;
        let code = sys::backplane_session_create(device, graph, Some(the_weight), source, 0, &mut session, null as *mut _);
        assert_eq!(code, sys::BP_OK);
        let mut out = vec![0f32; 100];
        let input = sys::backplane_bytes { name: name_x, data: x.as_ptr() as *mut _, bytes: x.len() as u64 * 4 };
        let output = sys::backplane_bytes { name: name_y, data: out.as_mut_ptr() as *mut _, bytes: 400 };
        assert_eq!(sys::backplane_session_run(session, &input, 1, &output, 1, std::ptr::null(), null as *mut _), sys::BP_OK);
        sys::backplane_session_destroy(session);
        sys::backplane_graph_destroy(graph);
        sys::backplane_device_close(device);
        sys::backplane_context_destroy(context);
        out
    }
}

fn accumulator(device: &Device) -> Session {
    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::F32, &[2]).unwrap();
    let sum = graph.state("sum", DType::F32, &[2]).unwrap();
    let next = graph.add(Op::ADD, &[sum, x], &[]).unwrap();
    graph.update(sum, next).unwrap();
    let y = graph.add(Op::RESHAPE, &[next], &[Attribute::ints(Attr::SHAPE, &[2])]).unwrap();
    graph.output(y, "y").unwrap();
    Session::new(device, &graph, &Weights::none()).unwrap()
}

#[test]
fn tensors_stay_on_the_device_and_states_are_shared() {
    let device = context().open("cpu").unwrap();
    let (mut first, mut second) = (accumulator(&device), accumulator(&device));
    let both = Tensor::from_slice(&device, DType::F32, &[2, 2], &[1f32, 2.0, 10.0, 20.0]).unwrap();
    let room = Tensor::new(&device, DType::F32, &[2]).unwrap();
    assert_eq!((both.dtype(), both.shape()), (DType::F32, &[2i64, 2][..]));
    let flat = |t: &Tensor| Tensor::from_slice(&device, DType::F32, &[2], &t.to_vec::<f32>().unwrap()).unwrap();
    let (one, ten) = (flat(&both.rows(0, 1).unwrap()), flat(&both.rows(1, 1).unwrap()));
    let event: Event = first.submit(&[("x", &one)], &[("y", &room)], None).unwrap();
    assert!(event.wait_for(std::time::Duration::from_secs(600)).unwrap());
    assert_eq!(room.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    let state = first.state("sum").unwrap();
    second.set_state("sum", &state).unwrap();
    let mut y = [0f32; 2];
    second.run(&[Input::tensor("x", &ten)], &mut [Output::new("y", &mut y)], None).unwrap();
    assert_eq!((y, state.to_vec::<f32>().unwrap()), ([11.0, 22.0], vec![11.0, 22.0]));
    first.run(&[Input::new("x", &[1f32, 1.0])], &mut [Output::tensor("y", &room)], None).unwrap();
    assert_eq!(room.to_vec::<f32>().unwrap(), [12.0, 23.0]);
    first.reset_state().unwrap();
    assert_eq!(state.to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert!(device.ledger().unwrap().holders.iter().map(|h| h.bytes).sum::<u64>() == device.ledger().unwrap().held);
}

#[test]
fn an_op_of_several_outputs_and_a_constant() {
    let device = context().open("cpu").unwrap();
    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::I32, &[12]).unwrap();
    let c = graph.constant("c", DType::I32, &[1], &[100i32]).unwrap();
    let sum = graph.add(Op::ADD, &[x, c], &[]).unwrap();
    let how = [Attribute::int(Attr::AXIS, 0), Attribute::ints(Attr::SIZES, &[1; 12])];
    let parts = graph.add_all(Op::SPLIT, &[sum], &how).unwrap();
    assert_eq!(parts.len(), 12);
    graph.output(parts[11], "last").unwrap();
    let mut session = Session::new(&device, &graph, &Weights::none()).unwrap();
    let mut last = [0i32];
    let x: Vec<i32> = (0..12).collect();
    session.run(&[Input::new("x", &x)], &mut [Output::new("last", &mut last)], None).unwrap();
    assert_eq!(last, [111]);
}

#[test]
fn what_may_be_sent_and_shared_is_what_the_header_says() {
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    sent::<Context>();
    shared::<Context>();
    sent::<Device>();
    shared::<Device>();
    sent::<Weights>();
    shared::<Weights>();
    sent::<Event>();
    shared::<Event>();
    sent::<Tensor>();
    shared::<Tensor>();
    sent::<Graph>();
    sent::<Session>();
    // That Graph, Session, Transcriber and Upscaler are not Sync: examples of theirs that must not compile.
}

#[test]
fn threads_share_a_device_weights_and_a_tensor() {
    let context = context();
    let device = context.open("cpu").unwrap();
    let shared = Tensor::from_slice(&device, DType::F32, &[1024], &[0f32; 1024]).unwrap();
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (context, device, shared) = (&context, &device, &shared);
            scope.spawn(move || {
                for _ in 0..50 {
                    shared.write(&[i as f32; 1024]).unwrap();
                    let seen = shared.to_vec::<f32>().unwrap();
                    assert!(seen.iter().all(|v| *v == seen[0]), "half of one write and half of another");
                }
                let mut session = accumulator(device);
                let mut y = [0f32; 2];
                for _ in 0..20 {
                    session.run(&[Input::new("x", &[1f32, i as f32])], &mut [Output::new("y", &mut y)], None).unwrap();
                }
                assert_eq!(y, [20.0, 20.0 * i as f32]);
                assert_eq!(context.devices().unwrap()[0].id, device.info().unwrap().id);
            });
        }
    });
}
