//! How does Docker keep what outlives its containers?
//!
//! As volumes of its `local` driver, without options: with options such a volume is another name for any folder or
//! device of the host's.

use bollard::Docker;
use bollard::errors::Error as ApiError;
use bollard::models::{Volume, VolumeCreateRequest};
use bollard::query_parameters::{ListVolumesOptionsBuilder, RemoveVolumeOptions};

use super::{filters, holds, refused};
use crate::cage::engine::{EngineError, Labels, VolumeRecord};

pub(super) async fn find(api: &Docker, name: &str) -> Result<Option<VolumeRecord>, EngineError> {
    match api.inspect_volume(name).await {
        Ok(volume) => Ok(Some(record(volume))),
        Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(refused("describe a volume")(error)),
    }
}

/// One that is there already is given as it is: whoever asked compares.
pub(super) async fn make(api: &Docker, name: &str, labels: Labels) -> Result<VolumeRecord, EngineError> {
    let asked = VolumeCreateRequest {
        name: Some(name.to_owned()),
        driver: Some("local".to_owned()),
        labels: Some(labels.into_iter().collect()),
        ..Default::default()
    };
    Ok(record(api.create_volume(asked).await.map_err(refused("make a volume"))?))
}

pub(super) async fn all(api: &Docker, labels: &Labels) -> Result<Vec<VolumeRecord>, EngineError> {
    let options = ListVolumesOptionsBuilder::default().filters(&filters(labels)).build();
    let listed = api.list_volumes(Some(options)).await.map_err(refused("list its volumes"))?;
    Ok(listed
        .volumes
        .unwrap_or_default()
        .into_iter()
        .map(record)
        .filter(|volume| holds(&volume.labels, labels))
        .collect())
}

pub(super) async fn remove(api: &Docker, name: &str) -> Result<(), EngineError> {
    match api.remove_volume(name, None::<RemoveVolumeOptions>).await {
        Ok(()) | Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => Ok(()),
        Err(error) => Err(refused("remove a volume")(error)),
    }
}

fn record(volume: Volume) -> VolumeRecord {
    VolumeRecord {
        plain: volume.driver == "local" && volume.options.is_empty(),
        name: volume.name,
        labels: volume.labels.into_iter().collect(),
    }
}
