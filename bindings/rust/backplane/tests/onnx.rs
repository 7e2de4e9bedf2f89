//! Networks from ONNX files: the wrong uses first.
#![cfg(feature = "models")]
mod support;

use backplane::{CancelFlag, Code, DType, Math, Model, ModelInput, ModelSession, Output, Tensor};
use support::{context, onnx_model, Folder};

const X: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const Y: [f32; 4] = [4.0, 0.0, 10.0, 0.0];

fn model() -> Model {
    Model::from_onnx_bytes(onnx_model(), "dense").unwrap()
}

#[test]
fn a_file_that_is_not_there_cut_or_none() {
    let folder = Folder::new("onnx");
    let error = Model::from_onnx("no-such.onnx").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().contains("no-such.onnx"), "{}", error);
    let whole = onnx_model();
    for length in [0, 1, 10, whole.len() / 2, whole.len() - 1] {
        let file = folder.0.join("cut.onnx");
        std::fs::write(&file, &whole[..length]).unwrap();
        let read = Model::from_onnx(&file).map(|m| m.info().unwrap().nodes);
        assert!(read.is_err() || length > 10, "{} bytes are a model", length);
    }
    assert_eq!(Model::from_onnx_bytes(b"no model at all".to_vec(), "text").err().unwrap().code(), Code::Corrupt);
    assert_eq!(Model::from_onnx("a\0b").err().unwrap().code(), Code::Invalid);
}

#[test]
fn a_run_refuses_what_the_model_does_not_ask_for() {
    let context = context();
    assert_eq!(ModelSession::new(&model(), &context, "no-such").err().unwrap().code(), Code::NotFound);
    assert_eq!(ModelSession::on(&model(), &[], Math::Default).err().unwrap().code(), Code::Invalid);
    let mut session = ModelSession::new(&model(), &context, "cpu").unwrap();
    let mut fails = |inputs: &[ModelInput]| session.run(inputs, None).err().unwrap();
    assert_eq!(fails(&[]).code(), Code::Invalid);
    assert!(fails(&[ModelInput::new("x", &[2, 3], &[1i32; 6])]).message().contains("a slice of i32"));
    assert_eq!(fails(&[ModelInput::new("x", &[2, 4], &X)]).code(), Code::Invalid);
    assert_eq!(fails(&[ModelInput::new("x", &[3, 3], &X)]).code(), Code::Invalid);
    assert_eq!(fails(&[ModelInput::new("x", &[-1, 3], &X)]).code(), Code::Invalid);
    assert_eq!(fails(&[ModelInput::new("z", &[2, 3], &X)]).code(), Code::Invalid);
    assert!(fails(&[ModelInput::shape("x", &[2, 3])]).message().contains("is a shape"));
    let cancel = CancelFlag::new();
    cancel.cancel();
    assert_eq!(session.run(&[ModelInput::new("x", &[2, 3], &X)], Some(&cancel)).err().unwrap().code(), Code::Cancelled);
}

#[test]
fn a_model_says_what_it_is_and_runs_at_any_size() {
    let context = context();
    let device = context.open("cpu").unwrap();
    let model = model();
    let info = model.info().unwrap();
    assert_eq!(
        (info.format.as_str(), info.name.as_str(), info.opset, info.nodes, info.parameters),
        ("ONNX", "dense", 17, 2, 6)
    );
    let x = &model.inputs().unwrap()[0];
    assert_eq!(
        (x.name.as_str(), x.dtype, &x.shape, x.symbols[0].as_str()),
        ("x", Some(DType::F32), &Some(vec![-1, 3]), "batch")
    );
    assert_eq!(model.outputs().unwrap()[0].name, "y");
    assert!(model.check(std::slice::from_ref(&device), &[ModelInput::shape("x", &[2, 3])]).unwrap().contains("\"runs\""));
    let mut session = ModelSession::new(&model, &context, "cpu").unwrap();
    drop((model, context)); // what was made from them stays
    let made = session.prepare(&[ModelInput::shape("x", &[5, 3])]).unwrap();
    assert_eq!(made[0].shape, Some(vec![5, 2]));
    let results = session.run(&[ModelInput::new("x", &[2, 3], &X)], None).unwrap();
    assert_eq!(session.run(&[ModelInput::new("x", &[1, 3], &X[..3])], None).unwrap().get::<f32>("y").unwrap(), &Y[..2]);
    let mut y = [0f32; 4];
    session.run_into(&[ModelInput::new("x", &[2, 3], &X)], &mut [Output::new("y", &mut y)], None).unwrap();
    assert_eq!(y, Y);
    let on_device = Tensor::from_slice(&device, DType::F32, &[2, 3], &X).unwrap();
    let room = Tensor::new(&device, DType::F32, &[2, 2]).unwrap();
    session.run_into(&[ModelInput::tensor("x", &on_device)], &mut [Output::tensor("y", &room)], None).unwrap();
    assert_eq!(room.to_vec::<f32>().unwrap(), Y);
    drop(session);
    assert_eq!(results.outputs().unwrap()[0].shape, Some(vec![2, 2]));
    assert_eq!(results.get::<f32>("y").unwrap(), Y);
    assert_eq!(results.get::<i32>("y").err().unwrap().code(), Code::Invalid);
    let error = results.get::<f32>("z").err().unwrap();
    assert!(error.code() == Code::NotFound && error.message().ends_with("there are: y"), "{}", error);
    fn any_thread<T: Send + Sync>(_: &T) {}
    any_thread(&results);
}

#[test]
fn a_file_is_the_same() {
    let folder = Folder::new("onnx-file");
    let file = folder.0.join("dense.onnx");
    std::fs::write(&file, onnx_model()).unwrap();
    let device = context().open("cpu").unwrap();
    let mut session = ModelSession::on(&Model::from_onnx(&file).unwrap(), &[device], Math::Strict).unwrap();
    assert_eq!(session.run(&[ModelInput::new("x", &[2, 3], &X)], None).unwrap().get::<f32>("y").unwrap(), Y);
}
