// Reads a set of arrays from an HDF5 file: the datasets of all groups, their attribute "units", and
// the run from the attributes of the file.
#include "record/data/h5/h5.h"

#include <string.h>

static const char UNITS[] = "units";
enum {
  LONGEST_NAME = 1000
}; // bytes, including the names of enclosing groups; also limits the
   // depth of groups

typedef struct Reading {
  S2H5 h5;
  const char *path;
  S2DataSet *set;
  S2Status status; // the error to return. If it is OK, h5.trouble is returned instead, if set
} Reading;

static bool take_unit(Reading *reading, const S2H5Object *object, S2DataArray *array) {
  for (int i = 0; i < object->count && reading->h5.trouble == NULL; i++) {
    char *name = NULL, *text = NULL;
    if (object->at[i].kind == S2_H5_ATTRIBUTE &&
        s2_h5_attribute(&reading->h5, &object->at[i], &name, &text) && strcmp(name, UNITS) == 0) {
      s2_memory_free(array->unit);
      array->unit = text;
      text = NULL;
    }
    s2_memory_free(name);
    s2_memory_free(text);
  }
  return reading->h5.trouble == NULL;
}

static bool read_array(Reading *reading, const char *name, const S2H5Object *object) {
  static const S2DataType types[] = {[S2_H5_INTEGER] = S2_DATA_INTEGER,
                                     [S2_H5_FLOAT] = S2_DATA_NUMBER,
                                     [S2_H5_TEXT] = S2_DATA_TEXT,
                                     [S2_H5_FLAG] = S2_DATA_FLAG};
  S2H5 *h5 = &reading->h5;
  // Check that the type and shape of the values are supported.
  const S2H5Message *kind = s2_h5_message(object, S2_H5_TYPE);
  const S2H5Message *extent = s2_h5_message(object, S2_H5_SPACE);
  S2H5Type type;
  S2H5Space space;
  if (kind->shared || extent->shared) {
    return s2_h5_fail(h5, "committed (named) types are not supported");
  }
  if (!s2_h5_type(h5, kind->data, &type) || !s2_h5_space(h5, extent->data, &space)) {
    return false;
  }
  if (type.class == S2_H5_OTHER) {
    return s2_h5_fail(h5, "only texts and numbers of a supported type can be read");
  }
  // Read and unpack the values.
  S2H5Values values;
  if (!s2_h5_values(h5, object, &type, &space, &values)) {
    return false;
  }
  // Create an array of the stated size. The sum of all sizes is limited.
  size_t shape[S2_DATA_AXES], count = (size_t)space.count;
  for (int i = 0; i < space.axes; i++) {
    shape[i] = (size_t)space.shape[i];
  }
  size_t text_bytes = type.class != S2_H5_TEXT ? 0 : count * (type.in_heap ? 1 : type.size + 1u);
  S2DataArray *array = NULL;
  reading->status = s2_data_add_read(reading->path, reading->set, name, types[type.class],
                                     space.axes, shape, text_bytes, &array);
  bool good = reading->status.code == S2_OK &&
              s2_h5_decode(h5, &type, values.bytes, count, array) &&
              take_unit(reading, object, array);
  s2_memory_free(values.owned);
  return good;
}

static bool read_object(Reading *reading, const char *name, uint64_t address);

static bool read_group(Reading *reading, const char *name, const S2H5Object *object) {
  S2H5Links links = {0};
  bool good = s2_h5_links(&reading->h5, object, &links);
  for (int i = 0; i < links.count && good; i++) {
    char whole[LONGEST_NAME + 1];
    int length =
        snprintf(whole, sizeof whole, "%s%s%s", name, *name != '\0' ? "/" : "", links.at[i].name);
    good = length <= LONGEST_NAME
               ? read_object(reading, whole, links.at[i].address)
               : s2_h5_fail(&reading->h5, "the file contains a name longer than 1000 bytes");
  }
  s2_h5_free_links(&links);
  return good;
}

// The run is stored in the attributes of the root group.
static void hdf5_read_run(Reading *reading, const S2H5Object *root) {
  for (int i = 0; i < root->count && reading->h5.trouble == NULL; i++) {
    char *name = NULL, *text = NULL;
    if (root->at[i].kind == S2_H5_ATTRIBUTE &&
        s2_h5_attribute(&reading->h5, &root->at[i], &name, &text)) {
      s2_run_add(&reading->set->run, name, text);
    }
    s2_memory_free(name);
    s2_memory_free(text);
  }
}

static bool read_object(Reading *reading, const char *name, uint64_t address) {
  S2H5Object object = {0};
  bool good = s2_h5_object(&reading->h5, address, &object);
  bool is_array =
      s2_h5_message(&object, S2_H5_TYPE) != NULL && s2_h5_message(&object, S2_H5_SPACE) != NULL;
  if (good && *name == '\0') {
    hdf5_read_run(reading, &object);
    good = reading->h5.trouble == NULL;
  }
  if (good) {
    good = is_array ? read_array(reading, name, &object) : read_group(reading, name, &object);
  }
  // Keep the first status, so that the message names the innermost array.
  if (!good && reading->status.code == S2_OK && is_array && reading->h5.trouble != NULL) {
    reading->status = s2_data_refuse(reading->path, "'%.60s': %s", name, reading->h5.trouble);
  }
  s2_array_free(object);
  return good;
}

S2Status s2_hdf5_load(const S2DataFile *file, S2DataSet *set) {
  Reading reading = {.path = file->path, .set = set};
  bool good = s2_h5_open(&reading.h5, file) && read_object(&reading, "", reading.h5.root);
  if (!good && reading.status.code == S2_OK) {
    reading.status = s2_data_refuse(file->path, "%s", reading.h5.trouble);
  }
  s2_h5_close(&reading.h5);
  return reading.status;
}
