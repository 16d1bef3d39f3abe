//! A tool written in Rust, called through the whole path of a call.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::{
    core::{Scope, Source, ToolResult},
    engine::{
        CallContext, CallRequest, Door, Engine, EngineSettings, Hub, HubLimits, PermissionSettings, SourceOptions,
        authoring::{About, Json, Tool, ToolError, Toolbox},
    },
};

/// What the tool takes: the fields are the arguments, their comments are what a model reads about them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Name of the city, in English.
    city: String,
    /// Degrees Fahrenheit instead of Celsius.
    #[serde(default)]
    fahrenheit: bool,
}

/// What it gives: structured content, with a schema that clients see.
#[derive(Serialize, JsonSchema)]
struct Weather {
    degrees: i32,
    sky: String,
}

struct GetWeather {
    stations: BTreeMap<&'static str, (i32, &'static str)>,
}

impl Tool for GetWeather {
    type Arguments = Question;
    type Output = Json<Weather>;

    fn about(&self) -> About {
        About::new("get_weather", "The weather in a city at this moment.").title("Weather").reads()
    }

    fn describe_call(&self, question: &Question) -> Option<String> {
        Some(format!("Looks up the weather in {}", question.city))
    }

    async fn call(&self, question: Question, _context: CallContext) -> Result<Json<Weather>, ToolError> {
        let Some((celsius, sky)) = self.stations.get(question.city.as_str()) else {
            let known: Vec<_> = self.stations.keys().copied().collect();
            return Err(ToolError::told(format!(
                "no station in '{}'; there are some in {}",
                question.city,
                known.join(", ")
            )));
        };
        let degrees = if question.fahrenheit { celsius * 9 / 5 + 32 } else { *celsius };
        Ok(Json(Weather { degrees, sky: (*sky).to_owned() }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One source, `custom:home`, with one tool.
    let stations = BTreeMap::from([("Berlin", (18, "cloudy")), ("Oslo", (9, "clear"))]);
    let toolbox = Toolbox::builder().tool(GetWeather { stations }).build()?;
    let hub = Hub::new(HubLimits::default());
    toolbox.publish(&hub, Source::Custom("home".into()), SourceOptions::default());

    // Nothing runs that no rule allows.
    let permissions =
        PermissionSettings { allow: vec!["custom:home/get_weather".parse()?], ..PermissionSettings::default() };
    let engine = Engine::new(hub, EngineSettings { permissions, ..EngineSettings::default() }, None, vec![]);

    for arguments in [
        json!({"city": "Oslo"}),
        json!({"city": "Oslo", "fahrenheit": true}),
        json!({"city": "Rome"}),
        json!({"town": 1}),
    ] {
        println!("{}", call(&engine, &arguments).await?);
    }
    Ok(())
}

async fn call(engine: &Engine, arguments: &Value) -> Result<String, serde_json::Error> {
    let arguments = serde_json::value::to_raw_value(arguments)?;
    let request = CallRequest::new("home__get_weather", Some(arguments), Scope::default(), Door::Library);
    let report = engine.call_report(request).await;
    let text = ToolResult::from(report.reply).to_text();
    Ok(format!("{}: {}", report.outcome.word(), text.lines().take(2).collect::<Vec<_>>().join(" ")))
}
