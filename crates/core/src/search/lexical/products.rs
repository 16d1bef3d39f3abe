//! Names of widely known services. A request that names one which no tool mentions is about something that is not
//! connected; any other unknown word may just be a value, a paraphrase or a slip.

/// Sorted; lower case, one word.
#[rustfmt::skip]
pub(super) const PRODUCTS: &[&str] = &[
    "adobe", "adyen", "airbnb", "airflow", "airtable", "algolia", "alibaba", "alipay", "amplitude", "ansible",
    "anthropic", "apollo", "argocd", "asana", "atlassian", "auth0", "aws", "azure", "bamboohr", "basecamp",
    "bigcommerce", "bigquery", "binance", "bitbucket", "bitly", "bluesky", "buildkite", "calendly", "canva",
    "cassandra", "circleci", "clickhouse", "clickup", "cloudflare", "cloudinary", "coinbase", "confluence",
    "contentful", "couchbase", "craigslist", "databricks", "datadog", "dbt", "deepl", "digitalocean", "discord",
    "docker", "docusign", "dropbox", "duckduckgo", "dynamodb", "dynatrace", "ebay", "elasticsearch", "etsy",
    "evernote", "excel", "expedia", "facebook", "figma", "firebase", "firecrawl", "freshdesk", "gcal", "gcloud",
    "gcp", "gdrive", "github", "gitlab", "gmail", "godaddy", "grafana", "gusto", "hackernews", "heroku", "hubspot",
    "huggingface", "instacart", "instagram", "intercom", "jenkins", "jira", "kafka", "keycloak", "klaviyo",
    "kubernetes", "launchdarkly", "linkedin", "lyft", "magento", "mailchimp", "mailgun", "mapbox", "mastodon",
    "mattermost", "miro", "mixpanel", "mongodb", "mysql", "neo4j", "netflix", "netlify", "netsuite", "newrelic",
    "notion", "obsidian", "okta", "onedrive", "onenote", "openai", "opensearch", "opentable", "outlook", "pagerduty",
    "paypal", "pinecone", "pinterest", "pipedrive", "postgres", "postgresql", "posthog", "powerpoint", "prometheus",
    "quickbooks", "rabbitmq", "reddit", "redis", "redshift", "rippling", "roblox", "salesforce", "sap", "sendgrid",
    "sentry", "servicenow", "sharepoint", "shopify", "skype", "slack", "smartsheet", "snapchat", "snowflake",
    "sonarqube", "soundcloud", "splunk", "spotify", "sqlite", "squarespace", "strava", "stripe", "supabase",
    "surveymonkey", "tableau", "telegram", "terraform", "tiktok", "todoist", "toggl", "travisci", "trello",
    "tripadvisor", "tumblr", "twilio", "twitch", "twitter", "typeform", "uber", "vercel", "vimeo", "walmart",
    "wayfair", "webex", "webflow", "wechat", "weibo", "whatsapp", "wikipedia", "woocommerce", "wordpress", "workday",
    "xero", "yelp", "youtube", "zapier", "zendesk", "zillow", "zoho", "zoom",
];
