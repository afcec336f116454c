//! Names and values that are members of their own, and passwords of a word with a number.

use super::missed;

#[test]
fn a_value_beside_its_name_goes_in_the_notation_of_each_tool() {
    let cases = [
        ("{\"ParameterKey\":\"DbPassword\",\"ParameterValue\":\"@@\"}", "{a14}"),
        ("{\n  \"ParameterKey\": \"DbPassword\",\n  \"ParameterValue\": \"@@\"\n}", "{a14}"),
        ("{\"Name\":\"/prod/db/password\",\"Type\":\"SecureString\",\"Value\":\"@@\"}", "{a14}"),
        ("variable \"db_password\" {\n  default = \"@@\"\n}", "{a16}"),
        ("variable \"api_secret\" {\n  default = \"@@\"\n}", "{a24}"),
    ];
    assert_eq!(missed(&cases), Vec::<String>::new());
}

#[test]
fn a_password_may_be_a_word_with_two_digits_in_a_setting() {
    let cases = [("DB_PASSWORD=@@\n", "violet25"), ("export PGPASSWORD='@@'", "meadow47")];
    assert_eq!(missed(&cases), Vec::<String>::new());
    // In a program it is a name.
    for text in ["password = violet25;", "PASSWORD=sha256", "let password = meadow47;"] {
        assert_eq!(super::redacted(text), text);
    }
}
