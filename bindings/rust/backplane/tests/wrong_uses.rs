//! What is wrong is an error with a code and a sentence; nothing crashes, hangs or leaks.
mod support;

use backplane::{
    Attr, Attribute, CancelFlag, Code, Context, DType, Error, Graph, Input, Op, Output, Session, Tensor, TensorId,
    WeightSource, Weights,
};
use std::collections::BTreeMap;
use support::{builder, context};

fn says<T>(result: backplane::Result<T>, code: Code, words: &str) -> Error {
    let error = match result {
        Ok(_) => panic!("no error, where '{}' was expected", words),
        Err(error) => error,
    };
    assert_eq!(error.code(), code, "{}", error);
    assert!(error.message().contains(words), "'{}' does not say '{}'", error, words);
    assert!(!error.remedy().is_empty() && !error.message().contains('\0'));
    error
}

fn relu(dims: &[i64]) -> Graph {
    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::F32, dims).unwrap();
    let y = graph.add(Op::RELU, &[x], &[]).unwrap();
    graph.output(y, "y").unwrap();
    graph
}

#[test]
fn without_modules_there_is_no_device_and_the_report_says_why() {
    let empty = support::Folder::new("empty");
    let nothing =
        Context::builder().module_path(&empty.0).skip_default_paths().skip_environment().skip_linked_in().build().unwrap();
    assert!(nothing.devices().unwrap().is_empty());
    says(nothing.open(""), Code::NotFound, "no usable device");
    assert!(nothing.report().unwrap().contains("\"sources\""));
    let missing = Context::builder()
        .module_path("no/such/folder")
        .skip_default_paths()
        .skip_linked_in()
        .skip_environment()
        .build()
        .unwrap();
    says(missing.open("cpu"), Code::NotFound, "");
}

#[test]
fn a_name_that_nothing_has_says_what_there_is() {
    let context = context();
    says(context.open("no-such"), Code::NotFound, "no-such");
    says(context.unload("no-such"), Code::NotFound, "no-such");
    let device = context.open("cpu").unwrap();
    says(device.set_option("no-such", "1"), Code::NotFound, "threads");
    says(device.set_option("threads", "many"), Code::Invalid, "whole number");
    assert!(Op::from_name("NoSuch").is_none() && Op::from_name("Re\0lu").is_none() && DType::from_name("").is_none());
    assert_eq!(
        (Op::from_name("Conv"), Attr::from_name("strides"), DType::from_name("f16")),
        (Some(Op::CONV), Some(Attr::STRIDES), Some(DType::F16))
    );
}

#[test]
fn a_zero_inside_a_text_is_refused() {
    let context = context();
    says(context.open("cpu\0:0"), Code::Invalid, "zero byte");
    says(builder().device_filter("a\0b").build(), Code::Invalid, "zero byte");
    says(builder().module_path("a\0b").build(), Code::Invalid, "zero byte");
    let mut graph = Graph::new().unwrap();
    says(graph.input("x\0y", DType::F32, &[1]), Code::Invalid, "zero byte");
}

#[test]
fn a_graph_refuses_what_does_not_fit() {
    let mut graph = Graph::new().unwrap();
    let a = graph.input("a", DType::F32, &[2, 3]).unwrap();
    let b = graph.input("b", DType::F32, &[2, 3]).unwrap();
    says(graph.add(Op::MATMUL, &[a, b], &[]), Code::Invalid, "MatMul");
    says(graph.add(Op::MATMUL, &[a], &[]), Code::Invalid, "MatMul");
    says(graph.add(Op::RELU, &[a], &[Attribute::int(Attr::STRIDES, 1)]), Code::Invalid, "strides");
    says(graph.add(Op::RELU, &[TensorId::NONE], &[]), Code::Invalid, "");
    says(graph.input("a", DType::F32, &[1]), Code::Invalid, "a");
    says(graph.input("c", DType::F32, &[-1]), Code::Invalid, "");
    says(graph.input("d", DType::F32, &[1; 9]), Code::Invalid, "rank 9");
    says(graph.constant("e", DType::F32, &[2], &[1f32]), Code::Invalid, "");
    says(graph.constant("f", DType::F32, &[1], &[1i32]), Code::Invalid, "a slice of i32");
    let other = relu(&[2, 3]);
    let mut third = Graph::new().unwrap();
    let strange = third.input("x", DType::F32, &[2, 3]).unwrap();
    says(graph.add(Op::RELU, &[strange], &[]), Code::Invalid, "another graph");
    says(other.shape(strange), Code::Invalid, "another graph");
    says(graph.output(strange, "y"), Code::Invalid, "another graph");
    assert_eq!((graph.shape(a).unwrap(), graph.dtype(a).unwrap()), (vec![2, 3], DType::F32));
}

#[test]
fn a_run_refuses_what_the_graph_does_not_ask_for() {
    let device = context().open("cpu").unwrap();
    let mut session = Session::new(&device, &relu(&[4]), &Weights::none()).unwrap();
    let (x, mut y) = ([1f32; 4], [0f32; 4]);
    says(session.run(&[], &mut [Output::new("y", &mut y)], None), Code::Invalid, "x");
    says(session.run(&[Input::new("x", &x)], &mut [], None), Code::Invalid, "y");
    says(session.run(&[Input::new("x", &x[..3])], &mut [Output::new("y", &mut y)], None), Code::Invalid, "16");
    says(
        session.run(&[Input::new("x", &[1i32; 4])], &mut [Output::new("y", &mut y)], None),
        Code::Invalid,
        "a slice of i32",
    );
    says(session.run(&[Input::new("x", &x)], &mut [Output::new("y", &mut [0u8; 16])], None), Code::Invalid, "a slice of u8");
    says(session.run(&[Input::new("z", &x)], &mut [Output::new("y", &mut y)], None), Code::NotFound, "z");
    says(session.run(&[Input::new("x", &x)], &mut [Output::new("y\0", &mut y)], None), Code::Invalid, "zero byte");
    says(session.state("no-such"), Code::NotFound, "no-such");
    let cancel = CancelFlag::new();
    cancel.cancel();
    says(session.run(&[Input::new("x", &x)], &mut [Output::new("y", &mut y)], Some(&cancel)), Code::Cancelled, "cancel");
    cancel.reset();
    session.run(&[Input::new("x", &x)], &mut [Output::new("y", &mut y)], Some(&cancel)).unwrap();
    assert_eq!(y, x);
    let short = Tensor::new(&device, DType::F32, &[3]).unwrap();
    says(session.submit(&[("x", &short)], &[("y", &short)], None), Code::Invalid, "x");
    says(short.write(&[0f32; 4]), Code::Invalid, "");
    says(short.read(&mut [0i32; 3]), Code::Invalid, "a slice of i32");
    says(short.rows(2, 2), Code::Invalid, "");
    says(Session::on(&[], &relu(&[1]), &Weights::none(), backplane::Math::Default), Code::Invalid, "no device");
}

#[test]
fn weights_that_are_missing_wrong_or_panic() {
    struct Panics;
    impl WeightSource for Panics {
        fn bytes(&self, name: &str) -> Option<&[u8]> {
            panic!("asked for {}", name)
        }
    }
    let device = context().open("cpu").unwrap();
    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::F32, &[1, 2]).unwrap();
    let w = graph.weight("w", DType::F32, &[2, 2]).unwrap();
    let y = graph.add(Op::MATMUL, &[x, w], &[]).unwrap();
    graph.output(y, "y").unwrap();
    says(Session::new(&device, &graph, &Weights::none()), Code::Invalid, "no source of weights");
    says(Session::new(&device, &graph, &Weights::new(BTreeMap::<String, Vec<u8>>::new()).unwrap()), Code::NotFound, "'w'");
    let mut short = BTreeMap::new();
    short.insert("w".to_string(), vec![1f32; 3]);
    says(Session::new(&device, &graph, &Weights::new(short).unwrap()), Code::Invalid, "w");
    let panics = Weights::new(Panics).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Session::new(&device, &graph, &panics).map(drop)));
    assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), "asked for w");
}

#[test]
fn what_a_handle_was_made_from_may_go_first() {
    let context = context();
    let device = context.open("cpu").unwrap();
    drop(context);
    let mut graph = Graph::new().unwrap();
    let x = graph.input("x", DType::F32, &[1, 2]).unwrap();
    let w = graph.weight("w", DType::F32, &[2, 2]).unwrap();
    let y = graph.add(Op::MATMUL, &[x, w], &[]).unwrap();
    graph.output(y, "y").unwrap();
    let mut map = BTreeMap::new();
    map.insert("w".to_string(), vec![1f32, 2.0, 3.0, 4.0]);
    let weights = Weights::new(map).unwrap();
    let mut session = Session::new(&device, &graph, &weights).unwrap();
    drop((graph, weights));
    let input = Tensor::from_slice(&device, DType::F32, &[1, 2], &[1f32, 1.0]).unwrap();
    let output = Tensor::new(&device, DType::F32, &[1, 2]).unwrap();
    drop(device);
    let cancel = CancelFlag::new();
    let event = session.submit(&[("x", &input)], &[("y", &output)], Some(&cancel)).unwrap();
    drop((session, input, cancel));
    event.wait().unwrap();
    drop(event);
    assert_eq!(output.to_vec::<f32>().unwrap(), [4.0, 6.0]);
}

#[test]
fn an_error_can_be_shown_kept_and_sent() {
    fn sent<T: std::error::Error + Send + Sync + Clone + 'static>(_: &T) {}
    let error = says(context().open("no-such"), Code::NotFound, "no-such");
    sent(&error);
    assert_eq!(error.to_string(), error.message());
    assert_eq!(error.native(), 0);
}
