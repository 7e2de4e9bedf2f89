//! What is said in a sound file, word by word: transcribe MODEL.gguf SOUND [DEVICE].
use backplane::{Context, Transcriber};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.len() < 2 {
        eprintln!("usage: transcribe MODEL.gguf SOUND [DEVICE]");
        std::process::exit(2);
    }
    if let Err(error) = run(&arguments) {
        eprintln!("{}\n{}", error, error.remedy());
        std::process::exit(1);
    }
}

fn run(arguments: &[String]) -> backplane::Result<()> {
    let context = Context::new()?;
    let filter = arguments.get(2).map_or("", String::as_str);
    let mut transcriber = Transcriber::new(&context, filter, &arguments[0])?;
    eprintln!("on {}: {}", transcriber.info()?.device_name, transcriber.info()?.why);
    let said = transcriber.run_file(&arguments[1], None)?;
    for word in said.words()? {
        println!("{:7.2} {:7.2} {}", word.start, word.end, word.text);
    }
    println!("{}", said.text());
    Ok(())
}
