mod messages;
mod turns;
