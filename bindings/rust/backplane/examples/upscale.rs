//! Enlarges a picture: upscale MODEL.gguf IN.png OUT.png [DEVICE].
use backplane::{Context, UpscaleOptions, Upscaler};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.len() < 3 {
        eprintln!("usage: upscale MODEL.gguf IN.png OUT.png [DEVICE]");
        std::process::exit(2);
    }
    if let Err(error) = run(&arguments) {
        eprintln!("{}\n{}", error, error.remedy());
        std::process::exit(1);
    }
}

fn run(arguments: &[String]) -> backplane::Result<()> {
    let context = Context::new()?;
    let filter = arguments.get(3).map_or("", String::as_str);
    let mut upscaler = Upscaler::new(&context, filter, &arguments[0])?;
    let mut progress = |done: i64, of: i64| eprintln!("{} of {} tiles", done, of);
    let options = UpscaleOptions { progress: Some(&mut progress), ..UpscaleOptions::default() };
    let made = upscaler.run_file(&arguments[1], &arguments[2], options)?;
    println!("{}: {} x {} in {:.2} s", arguments[2], made.width, made.height, made.seconds);
    Ok(())
}
