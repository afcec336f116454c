//! The rules: one row for each kind of secret.
//!
//! A row is data: its name, the words of which one must be there, the shape that follows, an example that matches and
//! one that does not; a test looks at both. Patterns of examples are those of [`expand`](super::expand). Formats are as
//! the services document them, or as their tokens are known to look.

use super::shape::Piece::{Is, Run};
use super::shape::{ALNUM, B64, DIGITS, DOTTED, HEX, LOWNUM, Shape, Shape::*, UPNUM, URL64, WORD, is_in};

/// One kind of secret.
#[derive(Debug)]
pub struct Rule {
    /// The name in `[REDACTED:<name>]`.
    pub name: &'static str,
    /// One of these begins what is looked for, or announces it; at least three bytes each. Tokens are spelled like
    /// this, names of values in any case.
    pub words: &'static [&'static str],
    /// How it goes on.
    pub shape: Shape,
    /// What matches, as a pattern.
    pub example: &'static str,
    /// What looks alike and does not match, as a pattern.
    pub look_alike: &'static str,
}

impl Rule {
    /// Says whether `byte` may follow a word of three bytes.
    pub fn may_follow(&self, byte: u8) -> bool {
        match self.shape {
            Token(pieces) | Around(_, _, _, pieces) | After(pieces) => match pieces.first() {
                Some(Run(class, _, _)) => is_in(byte, *class) || is_in(byte.to_ascii_uppercase(), *class),
                Some(Is(literal)) => literal.as_bytes()[0].eq_ignore_ascii_case(&byte),
                None => true,
            },
            _ => true,
        }
    }

    /// Says whether the word's case matters.
    pub fn is_exact(&self) -> bool {
        matches!(self.shape, Token(_) | Around(..) | Jwt | Pem)
    }
}

const fn rule(
    name: &'static str,
    words: &'static [&'static str],
    shape: Shape,
    example: &'static str,
    look_alike: &'static str,
) -> Rule {
    Rule { name, words, shape, example, look_alike }
}

/// All rules. Where two match at one place, the first stands.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    // What the user marks.
    rule("private", &["<private>"], Private, "a <private>my landlord's name</private> b", "<private> alone"),

    // Keys in files.
    rule("private-key", &["-----BEGIN "], Pem,
        "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n-----END RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----\n{b64}\n-----END CERTIFICATE-----"),
    // The same in base64; a certificate is no secret.
    rule("private-key", &["LS0tLS1CRUdJTiBSU0Eg", "LS0tLS1CRUdJTiBEU0Eg", "LS0tLS1CRUdJTiBFQyB", "LS0tLS1CRUdJTiBPUEVOU1NI", "LS0tLS1CRUdJTiBQUklWQVRF", "LS0tLS1CRUdJTiBFTkNSWVBURU", "LS0tLS1CRUdJTiBQR1AgUFJJVkFURS"],
        Encoded, "LS0tLS1CRUdJTiBQUklWQVRF{b300}", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0{b300}"),
    rule("service-account", &["eyJ0eXBlIjoic2VydmljZV9hY2NvdW50", "ewogICJ0eXBlIjogInNlcnZpY2VfYWNjb3VudC", "eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudC"], Encoded, "ewogICJ0eXBlIjogInNlcnZpY2VfYWNjb3VudC{b300}", "ewogICJ0eXBlIjogInNlcnZpY2VfYWNjb3VudC is the beginning"),
    rule("age-key", &["AGE-SECRET-KEY-1"], Token(&[Run(UPNUM, 58, 58)]), "AGE-SECRET-KEY-1{u58}", "AGE-SECRET-KEY-1{u20}"),
    rule("putty-key", &["Private-Lines: "], Encoded, "Private-Lines: 1\n{b64}\n", "Private-Lines: none."),

    // Clouds.
    rule("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Token(&[Run(UPNUM, 16, 16)]), "AKIA{u16}", "AKIAIOSFODNN7EXAMPLE"),
    rule("aws-session-token", &["IQoJb3JpZ2luX2Vj"], Token(&[Run(B64, 100, 4096)]), "IQoJb3JpZ2luX2Vj{b300}", "IQoJb3JpZ2luX2Vj{b20}"),
    rule("aws-bedrock-key", &["ABSK"], Token(&[Run(B64, 109, 269)]), "ABSK{b128}", "ABSK{b40}"),
    rule("google-api-key", &["AIza"], Token(&[Run(URL64, 35, 35)]), "AIza{_35}", "AIza{_20}"),
    rule("google-oauth-token", &["ya29."], Token(&[Run(DOTTED, 30, 2048)]), "ya29.{_120}", "ya29.short"),
    rule("google-client-secret", &["GOCSPX-"], Token(&[Run(URL64, 28, 28)]), "GOCSPX-{_28}", "GOCSPX-{_9}"),
    rule("google-refresh-token", &["1//0"], Token(&[Run(URL64, 40, 200)]), "1//0{_90}", "1//0 is a comment"),
    rule("azure-storage-key", &["AccountKey=", "SharedAccessKey="], After(&[Run(B64, 42, 88), Is("=")]), "AccountKey={b86}==", "AccountKey=none="),
    rule("azure-client-secret", &["7Q~", "8Q~"], Around(DOTTED, 3, 3, &[Run(DOTTED, 31, 34)]), "{a3}8Q~{_34}", "a8Q~{_8}"),
    rule("azure-devops-token", &["AZDO"], Around(ALNUM, 76, 76, &[Run(ALNUM, 4, 4)]), "{a76}AZDO{a4}", "{a16}AZDO{a4}"),
    rule("azure-api-key", &["JQQJ99"], Around(ALNUM, 52, 52, &[Run(ALNUM, 26, 26)]), "{a52}JQQJ99{a26}", "{a5}JQQJ99{a6}"),
    rule("azure-sas", &["&sig=", "?sig="], After(&[Run(B64, 43, 44)]), "?sv=2026&sig={b43}=", "?sv=2026&sig=none"),
    rule("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Token(&[Run(HEX, 64, 64)]), "dop_v1_{h64}", "dop_v1_{h20}"),
    rule("alibaba-access-key", &["LTAI"], Token(&[Run(ALNUM, 16, 26)]), "LTAI{a20}", "LTAI{a5}"),
    rule("tencent-secret-id", &["AKID"], Token(&[Run(ALNUM, 32, 36)]), "AKID{a32}", "AKID{a5}"),
    rule("heroku-key", &["HRKU-"], Token(&[Run(URL64, 36, 64)]), "HRKU-{_60}", "HRKU-none"),
    rule("fly-token", &["FlyV1 fm", "fm2_"], Token(&[Run(B64, 60, 4096)]), "fm2_{b120}", "fm2_short"),
    rule("netlify-token", &["nfp_"], Token(&[Run(ALNUM, 36, 40)]), "nfp_{a36}", "nfp_{a9}"),
    rule("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], Token(&[Run(ALNUM, 24, 64)]), "vcp_{a56}", "vcp_{a8}"),
    rule("render-token", &["rnd_"], Token(&[Run(ALNUM, 28, 40)]), "rnd_{a32}", "rnd_{a8}"),
    rule("scalingo-token", &["tk-us-"], Token(&[Run(URL64, 48, 48)]), "tk-us-{_48}", "tk-us-{_8}"),
    rule("cloudflare-origin-key", &["v1.0-"], Token(&[Run(HEX, 24, 24), Is("-"), Run(HEX, 146, 146)]), "v1.0-{h24}-{h146}", "v1.0-{h8}"),

    // Forges.
    rule("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Token(&[Run(WORD, 36, 255)]), "ghp_{a36}", "ghp_{a10}"),
    rule("github-token", &["github_pat_"], Token(&[Run(WORD, 40, 255)]), "github_pat_{a22}_{a59}", "github_pat_{a8}"),
    rule("gitlab-token", &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glagent-", "glimt-", "glffct-", "gloas-"],
        Token(&[Run(DOTTED, 20, 300)]), "glpat-{_20}", "glpat-{_7}"),
    rule("gitlab-runner-token", &["GR1348941"], Token(&[Run(URL64, 20, 20)]), "GR1348941{_20}", "GR1348941{_8}"),
    rule("bitbucket-token", &["ATBB"], Token(&[Run(ALNUM, 32, 32)]), "ATBB{a32}", "ATBB{a8}"),
    rule("atlassian-token", &["ATATT3x", "ATCTT3x"], Token(&[Run(URL64, 80, 300), Is("=")]), "ATATT3xFfGF0{_120}={h8}", "ATATT3x{_10}"),

    // Registries.
    rule("npm-token", &["npm_"], Token(&[Run(ALNUM, 36, 36)]), "npm_{a36}", "npm_config_registry"),
    rule("pypi-token", &["pypi-AgE"], Token(&[Run(URL64, 50, 1000)]), "pypi-AgEIcHlwaS5vcmc{_90}", "pypi-AgE"),
    rule("rubygems-key", &["rubygems_"], Token(&[Run(HEX, 48, 48)]), "rubygems_{h48}", "rubygems_version"),
    rule("crates-token", &["cio"], Token(&[Run(ALNUM, 32, 32)]), "cio{a32}", "cio{a9}"),
    rule("nuget-key", &["oy2"], Token(&[Run(LOWNUM, 43, 43)]), "oy2{l43}", "oy2{l9}"),
    rule("docker-token", &["dckr_pat_", "dckr_oat_"], Token(&[Run(URL64, 27, 32)]), "dckr_pat_{_27}", "dckr_pat_{_9}"),
    rule("jfrog-token", &["AKCp"], Token(&[Run(ALNUM, 60, 80)]), "AKCp{a69}", "AKCp{a9}"),
    rule("jfrog-token", &["cmVmdGtu"], Token(&[Run(ALNUM, 56, 56)]), "cmVmdGtu{a56}", "cmVmdGtu{a6}"),
    rule("clojars-token", &["CLOJARS_"], Token(&[Run(HEX, 60, 60)]), "CLOJARS_{h60}", "CLOJARS_USERNAME"),
    rule("huggingface-token", &["hf_", "api_org_"], Token(&[Run(ALNUM, 34, 40)]), "hf_{a34}", "hf_model_name"),

    // Chat.
    rule("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-", "xapp-", "xoxe-", "xoxe."],
        Token(&[Run(DOTTED, 24, 400)]), "xoxb-{d12}-{d13}-{a24}", "xoxb-none"),
    rule("slack-webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/"], After(&[Run(WORD | B64, 30, 120)]),
        "https://hooks.slack.com/services/T{u8}/B{u10}/{a24}", "https://hooks.slack.com/services/T0/B0"),
    rule("discord-webhook", &["/api/webhooks/"], After(&[Run(DIGITS, 17, 20), Is("/"), Run(URL64, 60, 80)]),
        "https://discord.com/api/webhooks/{d18}/{_68}", "https://discord.com/api/webhooks/12/list"),
    rule("teams-webhook", &[".webhook.office.com/webhookb2/"], After(&[Run(URL64, 36, 36), Is("@"), Run(URL64, 36, 36), Is("/IncomingWebhook/"), Run(URL64 | B64, 32, 100)]),
        "https://acme.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}", "https://acme.webhook.office.com/webhookb2/docs"),
    rule("telegram-token", &[":AA"], Around(DIGITS, 8, 10, &[Run(URL64, 32, 33)]), "{d9}:AA{_33}", "12:AA{_8}"),

    // Payment.
    rule("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_"], Token(&[Run(ALNUM, 10, 200)]), "sk_live_{a24}", "sk_live_key"),
    rule("stripe-webhook-secret", &["whsec_"], Token(&[Run(B64, 32, 64)]), "whsec_{a32}", "whsec_abc"),
    rule("square-token", &["sq0atp-", "sq0csp-", "sq0idp-"], Token(&[Run(URL64, 22, 43)]), "sq0atp-{_22}", "sq0atp-{_7}"),
    rule("square-token", &["EAAA"], Token(&[Run(URL64, 60, 60)]), "EAAA{_60}", "EAAA{_9}"),
    rule("braintree-token", &["access_token$production$", "access_token$sandbox$"], Token(&[Run(LOWNUM, 16, 16), Is("$"), Run(HEX, 32, 32)]), "access_token$production${l16}${h32}", "access_token$production$none"),
    rule("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], Token(&[Run(HEX, 32, 32)]), "shpat_{h32}", "shpat_{h8}"),
    rule("plaid-token", &["access-sandbox-", "access-production-", "access-development-"], Token(&[Run(URL64, 36, 36)]), "access-production-{h8}-{h4}-{h4}-{h4}-{h12}", "access-production-group"),
    rule("flutterwave-key", &["FLWSECK-", "FLWSECK_TEST-"], Token(&[Run(URL64, 32, 40)]), "FLWSECK-{h32}-X", "FLWSECK-none"),
    rule("razorpay-key", &["rzp_live_", "rzp_test_"], Token(&[Run(ALNUM, 14, 14)]), "rzp_live_{a14}", "rzp_live_mode"),
    rule("easypost-key", &["EZAK", "EZTK"], Token(&[Run(ALNUM, 54, 54)]), "EZAK{a54}", "EZAK{a4}"),

    // AI providers.
    rule("anthropic-key", &["sk-ant-"], Token(&[Run(URL64, 40, 255)]), "sk-ant-api03-{_93}AA", "sk-ant-api03"),
    rule("openrouter-key", &["sk-or-"], Token(&[Run(URL64, 40, 100)]), "sk-or-v1-{h64}", "sk-or-v1"),
    rule("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Token(&[Run(URL64, 40, 255)]), "sk-proj-{_120}", "sk-proj-{_6}"),
    rule("langfuse-key", &["sk-lf-"], Token(&[Run(URL64, 36, 36)]), "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}", "sk-lf-none"),
    rule("ai-key", &["sk-"], Token(&[Run(ALNUM, 32, 64)]), "sk-{h32}", "sk-learn-linear-models-and-trees"),
    rule("groq-key", &["gsk_"], Token(&[Run(ALNUM, 48, 56)]), "gsk_{a52}", "gsk_{a6}"),
    rule("xai-key", &["xai-"], Token(&[Run(ALNUM, 70, 90)]), "xai-{a80}", "xai-{a8}"),
    rule("perplexity-key", &["pplx-"], Token(&[Run(ALNUM, 40, 64)]), "pplx-{a48}", "pplx-{a8}"),
    rule("replicate-token", &["r8_"], Token(&[Run(ALNUM, 37, 37)]), "r8_{a37}", "r8_{a8}"),
    rule("nvidia-key", &["nvapi-"], Token(&[Run(URL64, 60, 70)]), "nvapi-{_64}", "nvapi-{_6}"),
    rule("elevenlabs-key", &["sk_"], Token(&[Run(HEX, 48, 48)]), "sk_{h48}", "sk_{h8}"),
    rule("langsmith-key", &["lsv2_"], Token(&[Run(WORD, 40, 60)]), "lsv2_pt_{h32}_{h10}", "lsv2_pt"),
    rule("tavily-key", &["tvly-"], Token(&[Run(URL64, 30, 50)]), "tvly-dev-{a32}", "tvly-dev"),
    rule("pinecone-key", &["pcsk_"], Token(&[Run(WORD, 60, 80)]), "pcsk_{a6}_{a63}", "pcsk_{a6}"),
    rule("jina-key", &["jina_"], Token(&[Run(URL64, 60, 64)]), "jina_{h32}{_28}", "jina_embeddings"),
    rule("cerebras-key", &["csk-"], Token(&[Run(LOWNUM, 48, 48)]), "csk-{l48}", "csk-{l8}"),

    // Databases and infrastructure.
    rule("supabase-key", &["sbp_"], Token(&[Run(HEX, 40, 40)]), "sbp_{h40}", "sbp_{h4}"),
    rule("supabase-key", &["sb_secret_"], Token(&[Run(URL64, 30, 50)]), "sb_secret_{_31}", "sb_secret_key"),
    rule("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Token(&[Run(DOTTED, 32, 64)]), "pscale_pw_{_43}", "pscale_pw_none"),
    rule("neon-key", &["napi_"], Token(&[Run(LOWNUM, 60, 70)]), "napi_{l64}", "napi_status"),
    rule("databricks-token", &["dapi"], Token(&[Run(HEX, 32, 32)]), "dapi{h32}", "dapi{h8}"),
    rule("doppler-token", &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."], Token(&[Run(DOTTED, 40, 80)]), "dp.pt.{a43}", "dp.pt.none"),
    rule("vault-token", &["hvs.", "hvb.", "hvr."], Token(&[Run(URL64, 24, 300)]), "hvs.{_92}", "hvs.client"),
    rule("terraform-token", &[".atlasv1."], Around(ALNUM, 14, 14, &[Run(URL64, 60, 70)]), "{a14}.atlasv1.{_67}", "a.atlasv1.b"),
    rule("pulumi-token", &["pul-"], Token(&[Run(HEX, 40, 40)]), "pul-{h40}", "pul-{h4}"),
    rule("tailscale-key", &["tskey-"], Token(&[Run(URL64, 20, 100)]), "tskey-auth-{a12}-{a32}", "tskey-auth"),
    rule("harness-token", &["pat."], Token(&[Run(URL64, 22, 22), Is("."), Run(HEX, 24, 24), Is("."), Run(ALNUM, 20, 20)]), "pat.{_22}.{h24}.{a20}", "pat.format"),
    rule("launchdarkly-key", &["sdk-", "api-", "mob-"], Token(&[Run(HEX, 8, 8), Is("-"), Run(HEX, 4, 4), Is("-4"), Run(HEX, 3, 3), Is("-"), Run(HEX, 4, 4), Is("-"), Run(HEX, 12, 12)]), "sdk-{h8}-{h4}-4{h3}-{h4}-{h12}", "sdk-manager"),
    rule("infracost-key", &["ico-"], Token(&[Run(ALNUM, 32, 32)]), "ico-{a32}", "ico-sizes"),
    rule("prefect-key", &["pnu_"], Token(&[Run(ALNUM, 36, 36)]), "pnu_{a36}", "pnu_{a3}"),
    rule("1password-token", &["ops_eyJ"], Token(&[Run(URL64, 250, 4096)]), "ops_eyJ{_300}", "ops_eyJ"),

    // Watching, building, mailing, planning.
    rule("sentry-token", &["sntryu_"], Token(&[Run(HEX, 64, 64)]), "sntryu_{h64}", "sntryu_{h4}"),
    rule("sentry-token", &["sntrys_"], Token(&[Run(WORD | B64, 80, 400)]), "sntrys_eyJ{a120}", "sntrys_"),
    rule("newrelic-key", &["NRAK-", "NRJS-", "NRRA-", "NRII-"], Token(&[Run(URL64, 19, 42)]), "NRAK-{u27}", "NRAK-{u4}"),
    rule("grafana-token", &["glsa_", "glc_"], Token(&[Run(WORD | B64, 40, 500)]), "glsa_{a32}_{h8}", "glsa_{a4}"),
    rule("dynatrace-token", &["dt0c01.", "dt0s16.", "dt0s02."], Token(&[Run(UPNUM, 8, 24), Is("."), Run(UPNUM, 64, 64)]), "dt0c01.{u24}.{u64}", "dt0c01.{u4}"),
    rule("honeycomb-key", &["hcaik_", "hcamk_", "hcxik_"], Token(&[Run(LOWNUM, 26, 64)]), "hcaik_{l58}", "hcaik_{l3}"),
    rule("posthog-key", &["phx_"], Token(&[Run(ALNUM, 40, 52)]), "phx_{a43}", "phx_{a3}"),
    rule("sonar-token", &["sqp_", "squ_", "sqa_"], Token(&[Run(HEX, 40, 40)]), "squ_{h40}", "squ_{h4}"),
    rule("circleci-token", &["CCIPAT_", "CCIPRJ_"], Token(&[Run(WORD, 40, 80)]), "CCIPAT_{a22}_{h40}", "CCIPAT_none"),
    rule("buildkite-token", &["bkua_", "bkaj_"], Token(&[Run(HEX, 40, 40)]), "bkua_{h40}", "bkua_{h4}"),
    rule("sendgrid-key", &["SG."], Token(&[Run(URL64, 22, 22), Is("."), Run(URL64, 43, 43)]), "SG.{_22}.{_43}", "SG.mail.send"),
    rule("mailgun-key", &["key-"], Token(&[Run(HEX, 32, 32)]), "key-{h32}", "key-value"),
    rule("mailchimp-key", &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"], Around(HEX, 32, 32, &[Run(DIGITS, 0, 1)]), "{h32}-us14", "ec2-us1"),
    rule("brevo-key", &["xkeysib-", "xsmtpsib-"], Token(&[Run(HEX, 64, 64), Is("-"), Run(ALNUM, 16, 16)]), "xkeysib-{h64}-{a16}", "xkeysib-none"),
    rule("resend-key", &["re_"], Token(&[Run(ALNUM, 8, 8), Is("_"), Run(ALNUM, 24, 24)]), "re_{a8}_{a24}", "re_compile_pattern"),
    rule("twilio-key", &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"], Token(&[Run(HEX, 31, 31)]), "SK0{h31}", "SK0{h8}"),
    rule("linear-key", &["lin_api_", "lin_oauth_"], Token(&[Run(ALNUM, 40, 64)]), "lin_api_{a40}", "lin_api_key"),
    rule("notion-token", &["ntn_"], Token(&[Run(ALNUM, 43, 50)]), "ntn_{a46}", "ntn_{a4}"),
    rule("notion-token", &["secret_"], Token(&[Run(ALNUM, 43, 43)]), "secret_{a43}", "secret_manager"),
    rule("airtable-token", &["pat"], Token(&[Run(ALNUM, 14, 14), Is("."), Run(HEX, 64, 64)]), "pat{a14}.{h64}", "pattern.sub"),
    rule("figma-token", &["figd_", "figu_"], Token(&[Run(URL64, 38, 50)]), "figd_{_40}", "figd_{_4}"),
    rule("postman-key", &["PMAK-"], Token(&[Run(HEX, 24, 24), Is("-"), Run(HEX, 34, 34)]), "PMAK-{h24}-{h34}", "PMAK-{h4}"),
    rule("contentful-token", &["CFPAT-"], Token(&[Run(URL64, 43, 43)]), "CFPAT-{_43}", "CFPAT-{_4}"),
    rule("typeform-token", &["tfp_"], Token(&[Run(DOTTED, 40, 70)]), "tfp_{_59}", "tfp_{_5}"),
    rule("dropbox-token", &["sl.u.", "sl.B"], Token(&[Run(URL64, 100, 1500)]), "sl.B{_136}", "sl.Begin"),
    rule("facebook-token", &["EAAC", "EAAG", "EAAM", "EAAB"], Token(&[Run(ALNUM, 80, 400)]), "EAAC{a180}", "EAAC{a8}"),
    rule("twitter-token", &["AAAAAAAAAAAAAAAAAAAAA"], Token(&[Run(ALNUM, 0, 60), Is("%"), Run(ALNUM, 40, 80)]), "AAAAAAAAAAAAAAAAAAAAA{a20}%3D{a50}", "AAAAAAAAAAAAAAAAAAAAAAAA"),
    rule("shippo-token", &["shippo_live_", "shippo_test_"], Token(&[Run(HEX, 40, 40)]), "shippo_live_{h40}", "shippo_live_mode"),
    rule("readme-key", &["rdme_"], Token(&[Run(LOWNUM, 70, 70)]), "rdme_{l70}", "rdme_{l7}"),
    rule("duffel-token", &["duffel_live_", "duffel_test_"], Token(&[Run(URL64, 43, 43)]), "duffel_live_{_43}", "duffel_live_{_3}"),
    rule("yandex-key", &["AQVN"], Token(&[Run(URL64, 35, 38)]), "AQVN{_36}", "AQVN{_6}"),

    // Formats that many services share.
    rule("jwt", &["eyJ0", "eyJh", "eyJr", "eyJj", "eyJl", "eyJu", "eyJw", "eyJ6", "eyJ4"], Jwt, "eyJhbGciOiJIUzI1NiJ9.{_60}.{_43}", "eyJhbGciOiJIUzI1NiJ9"),
    rule("password-hash", &["$2a$", "$2b$", "$2y$"], Token(&[Run(DIGITS, 2, 2), Is("$"), Run(DOTTED | B64, 53, 53)]), "$2b$12${a53}", "$2b$12"),
    rule("password-hash", &["$6$", "$5$", "$y$"], Token(&[Run(DOTTED | B64, 2, 20), Is("$"), Run(DOTTED | B64, 22, 86)]), "$6${a16}${a86}", "$6$ and $5$"),
    rule("http-authorization", &["authorization", "x-api-key", "private-token", "x-auth-token", "x-access-token", "x-vault-token", "api-key\":"], Header,
        "Authorization: Bearer {a40}", "Authorization: Bearer $TOKEN"),
    rule("connection-string", &["://"], Url, "postgres://app:{a12}@db.internal:5432/app", "postgres://postgres:postgres@localhost/app"),
    rule("login", &["password ", " -u ", "--user ", "--user="], Login, "machine git.internal login bob password {a14}", "machine git.internal login bob password your-password"),

    // Names and their values.
    rule("aws-secret-key", &["secret_access_key", "secretaccesskey", "aws_secret", "secret-access-key"], Assigned(true), "aws_secret_access_key = {b40}", "aws_secret_access_key = ${{AWS_SECRET}}"),
    rule("secret", &["password", "passwd", "passphrase", "_pwd", "dbpass", "_pass", "secret", "apikey", "api_key", "api-key", "access_key", "access-key", "accesskey", "auth_token", "authtoken", "auth-token",
        "access_token", "access-token", "accesstoken", "refresh_token", "client_secret", "private_key", "privatekey", "encryption_key", "signing_key", "master_key", "bot_token", "credential"], Assigned(true),
        "DB_PASSWORD={a9}!{a6}", "password = get_password(user)"),
    rule("secret", &["token", "_key", "-key", "_auth", "authkey", "connectionstring"], Assigned(false), "DEPLOY_TOKEN={a40}", "token = next_token_of_stream"),
];
