//! Reading a text as a person or a machine would: in a normal form, decoded, and by sentences.

pub(crate) mod decoded_forms;
pub(crate) mod normal_form;
pub(crate) mod sentences;
pub(crate) mod smallest_part;
